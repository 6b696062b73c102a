--- Distributed locks on Redis, wire-compatible with Redisson.
--
--     local redlatch = require "redlatch"
--     local client = assert(redlatch.connect("redis://127.0.0.1:6379"))
--     local lock = client:lock("orders:42", {timeout = 5})
--     local done, message, code = lock:with(function(held) ... end)
--
-- A lock on Redis is a lease: a process that was paused may go on for a moment after its lease is over. `held:lost()`
-- and the code "lost" tell; only a fencing token checked by what is guarded can prevent.
--
-- What fails is returned as nil, a message and a code such as "timeout", "not_owned", "lost" or "unreachable" (`with`
-- returns false instead of nil when its function has run). Misuse - a value of a wrong type, an option that does not
-- exist, a dot instead of a colon - is raised as an error.
-- SPDX-License-Identifier: Apache-2.0

local core = require "redlatch.core"
local client = require "redlatch.client"
local lock = require "redlatch.lock"
local options = require "redlatch.options"
local outcome = require "redlatch.outcome"

---@class redlatch
local redlatch = {}

--- The version of the core, such as "0.1.0".
---@type string
redlatch._VERSION = core.version()

---@class redlatch.ConnectOptions
---@field watchdog_lease? number seconds of a lease that is renewed; 30
---@field name_prefix? string is put before every name
---@field label? string says to others who holds or leads, such as "billing": 1 to 64 visible ASCII characters
---@field lazy? boolean connects at the first use, for servers that may be down now
---@field username? string wins over the URL's
---@field password? string wins over the URL's
---@field sentinel_username? string for the sentinels of a redis+sentinel URL; wins over the URL's
---@field sentinel_password? string the same
---@field database? integer wins over the URL's
---@field connect_timeout? number seconds that a connection may take; 5
---@field command_timeout? number seconds that a call may take which does not wait for others; 5
---@field unreachable_timeout? number a wait, of any length, fails when the server cannot be used for so long; 30
---@field fair_timeout? number waiters of a fair lock whose client is silent for so long lose their positions; the same
---for all who use a lock; 30
---@field min_replicas? integer a grant counts only when so many replicas acknowledged it; the URL's, else 0
---@field replica_timeout? number seconds that these may take; less than command_timeout, at most a third of
---watchdog_lease; 1
---@field durable? boolean whether it must be in the server's append-only file on disk, too; the URL's, else false
---@field release_on_close? boolean whether close() releases what is held, or leaves it to run out; true
---@field after_fork? "reopen"|"refuse" what the client is in a forked child: usable, with connections and uuid of its
---own, made at the first use; or its calls fail with "forked"; "reopen"
---@field tls_ca_file? string with a rediss:// URL: CA certificates in PEM; the system's
---@field tls_ca_dir? string a folder of CA certificates, as openssl rehash makes it
---@field tls_cert_file? string the client's certificate chain in PEM
---@field tls_key_file? string its private key in PEM; tls_cert_file
---@field tls_server_name? string the name in the server's certificate; the URL's host
---@field tls_verify? "full"|"ca"|"none" what is verified: all, the CA but not the name, nothing; "full"
---@field tls_min_version? "1.2"|"1.3" the oldest version of TLS; "1.2"
---@field tuning? redlatch.Tuning options that few programs change

---@class redlatch.Tuning
---@field busy_poll? boolean polls the socket briefly before sleeping, where that is faster; true
---@field linger? number a subscription outlives its last waiter by so many seconds; 3
---@field dead_peer_timeout? number a connection that owes a reply for so many seconds is closed; 10
---@field dns_interval? number the URL's host name is looked up again so often, in seconds; 5
---@field close_timeout? number close() waits at most so many seconds; 1
---@field claim_timeout? number a started acquire whose event is not collected for so long is given back; 30
---@field sharded_messages? "auto"|"on"|"off" with a redis+cluster:// URL: whether messages stay within a shard, by
---SPUBLISH; "auto": where the node has it; the same for all clients of a name; the URL's, else "auto"

--- Locks that are held all together or not at all, by the returned object. A member that is lost makes the whole lost.
---@param members redlatch.Lock[] up to 100 locks of single names, of any client and of any kind but fair; at the best
---all of one client, where they are acquired by one script
---@param given? {timeout: number?, lease: number?, max_hold: number?} as of Client:lock()
---@return redlatch.Lock
function redlatch.multi_lock(members, given)
    return lock.composite(members, false, given)
end

--- A lock on a majority of independent servers, which outlives the loss of a minority of them.
---@param members redlatch.Lock[] locks of single names, each of a client of its own for a server of its own; three at
---the least, unless `allow_few` is given. The clients are to be opened with `lazy`: connect() fails where the server is
---down, which a minority may be
---@param given? {allow_few: boolean?, timeout: number?, lease: number?, max_hold: number?}
---@return redlatch.Lock
function redlatch.redlock(members, given)
    return lock.composite(members, true, given)
end

--- Opens a client and connects, unless told to be lazy.
---@param url? string redis://[user[:password]@]host[:port][/database], unix://[user[:password]@]/path[?db=N],
---redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/service,
---redis+replicas://[user[:password]@]host[:port][,host[:port]...] or
---redis+cluster://[user[:password]@]host[:port][,host[:port]...]; rediss in place of redis for TLS; nil means the
---environment's REDIS_URL, else redis://127.0.0.1:6379/0
---@param given? redlatch.ConnectOptions
---@return redlatch.Client? client, string? message, string? code
function redlatch.connect(url, given)
    if url ~= nil then
        options.check_text(url, "url")
    end
    local status, handle = core.client_open(url, options.of_client(given))
    if status ~= core.OK then
        return outcome.failure(status, handle)
    end
    return client.new(handle)
end

--- Whether trying again later may well help without anything being repaired by hand.
---@param code string what a failed call returned
---@return boolean
function redlatch.is_retryable(code)
    return core.status_is_retryable(outcome.status_of(code)) == 1
end

--- Whether the server may have carried the command out although the call failed.
---@param code string what a failed call returned
---@return boolean
function redlatch.is_ambiguous(code)
    return core.status_is_ambiguous(outcome.status_of(code)) == 1
end

return redlatch
