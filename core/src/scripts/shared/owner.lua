-- owner: the form of an owner id (wire format 1.3): a client's uuid and a number; in transactions of Redisson also
-- the transaction's id.
-- SPDX-License-Identifier: Apache-2.0
local function is_owner(token)
    return string.find(token, '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:%-?%d+[:%x]*$')
end
