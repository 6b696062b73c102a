--- Methods: an error says so if a method is called with a dot instead of a colon.
-- SPDX-License-Identifier: Apache-2.0

local keys = require "redlatch.keys"
local outcome = require "redlatch.outcome"

local methods = {}

--- Guards all methods of a class. Called after the last method is defined. `variable` is the name of an object in
--- messages.
function methods.guard(class, variable)
    for _, name in ipairs(keys(class)) do
        local method = class[name]
        if type(method) == "function" then
            class[name] = function(self, ...)
                if getmetatable(self) ~= class then
                    outcome.misuse("%s was called on %s; expected a %s before a colon, as in %s:%s(...)", name,
                        outcome.shown(self), class.__name, variable, name)
                end
                return method(self, ...)
            end
        end
    end
end

return methods
