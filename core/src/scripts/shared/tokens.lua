-- tokens: what scripts begin with that draw fencing tokens (wire format 2.7).
-- SPDX-License-Identifier: Apache-2.0
-- Whether a text is a token that was issued, of which there may be more: Redis counts on from no other text.
local function is_token(text)
    return text == '0' or #text <= 18 and string.find(text, '^[1-9]%d*$')
end

local function wrong_counter()
    return redis.error_reply('WRONGTYPE the counter of tokens holds no number')
end
