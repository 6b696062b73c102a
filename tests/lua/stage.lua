--- What the Lua programs of the tests share: a program is run as `lua PROGRAM URL SCENE NAME` and plays one scene.
-- SPDX-License-Identifier: Apache-2.0

local stage = {}

local function shown(value)
    return type(value) == "string" and string.format("%q", value) or tostring(value)
end

--- Fails unless both are the same.
function stage.same(actual, expected, what)
    if actual ~= expected then
        error((what or "value") .. " is " .. shown(actual) .. "; expected " .. shown(expected), 2)
    end
end

--- The next event, within a time that is generous. Between two looks the program sleeps by the command `pause`; without
--- one it rechecks at once.
function stage.next_event(client, pause)
    local ends = os.time() + 10
    while os.time() <= ends do
        local event, message = client:next_event()
        if event then
            return event
        end
        stage.same(message, nil, "no event is no failure")
        if pause then
            os.execute(pause)
        end
    end
    error("no event within 10 s", 2)
end

--- Fails unless the condition holds.
function stage.check(condition, what)
    if not condition then
        error("not so: " .. what, 2)
    end
    return condition
end

--- Fails unless the results are nil, a message and this code. Returns the message.
function stage.fails(code, value, message, actual)
    if value ~= nil or type(message) ~= "string" or message == "" or actual ~= code then
        error("expected nil, a message and " .. shown(code) .. "; got " .. shown(value) .. ", " .. shown(message)
            .. ", " .. shown(actual), 2)
    end
    return message
end

--- Fails unless the function raises an error that contains this text. Returns the error.
function stage.raises(text, body, ...)
    local good, message = pcall(body, ...)
    if good or not tostring(message):find(text, 1, true) then
        error("expected an error with " .. shown(text) .. "; got " .. shown(message), 2)
    end
    return message
end

--- Fails unless the number is within these bounds.
function stage.between(low, value, high, what)
    if type(value) ~= "number" or value < low or value > high then
        error((what or "value") .. " is " .. shown(value) .. "; expected " .. low .. " to " .. high, 2)
    end
end

--- Collects all that is garbage, and what becomes garbage by that.
function stage.collect()
    for _ = 1, 4 do
        collectgarbage("collect")
    end
end

--- Tells the test something, and waits for its answer.
function stage.tell(text)
    io.stdout:write(text, "\n")
    io.stdout:flush()
end

function stage.ask(text)
    stage.tell(text)
    return io.stdin:read("*l")
end

--- Plays the scene that the command line names.
function stage.play(scenes)
    local url, scene, name = arg[1], arg[2], arg[3]
    scenes[scene](url, name)
    stage.tell("done")
end

return stage
