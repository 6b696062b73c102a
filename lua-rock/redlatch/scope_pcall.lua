--- Scope: the body of Lock:with() for versions of Lua without to-be-closed variables. Errors are caught, and raised
-- again after the release.
-- SPDX-License-Identifier: Apache-2.0

local function finish(held, good, first, ...)
    local released, message, code = true, nil, nil
    if not held._released then
        released, message, code = held:release()
    end
    if not good then
        error(first, 0)
    end
    if not released then
        return false, message, code
    end
    return true, first, ...
end

return function(held, body)
    return finish(held, pcall(body, held))
end
