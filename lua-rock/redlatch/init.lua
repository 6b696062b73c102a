--- Distributed locks on Redis, wire-compatible with Redisson.
--
--     local redlatch = require "redlatch"
--     local client = assert(redlatch.connect("redis://127.0.0.1:6379"))
--     local lock = client:lock("orders:42", {timeout = 5})
--     local done, message, code = lock:with(function(held) ... end)
--
-- A lock on Redis is a lease: a process that was paused may go on for a moment after its lease is over. `held:lost()`
-- and the code "lost" report that. Only a fencing token that the guarded resource checks can prevent it.
--
-- Failures are returned as nil, a message and a code such as "timeout", "not_owned", "lost" or "unreachable" (`with`
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
---@field watchdog_lease? number seconds of a lease that is renewed; default: 30
---@field name_prefix? string the prefix of every name; default: none
---@field label? string says to others who holds or leads, such as "billing": 1 to 64 visible ASCII characters
---@field lazy? boolean whether to connect at the first use, for servers that may be down now; default: false
---@field username? string default: the URL's
---@field password? string default: the URL's
---@field sentinel_username? string for the sentinels of a redis+sentinel URL; default: the URL's
---@field sentinel_password? string for the sentinels of a redis+sentinel URL; default: the URL's
---@field database? integer default: the URL's
---@field connect_timeout? number limit for a usable connection in seconds; default: 5
---@field command_timeout? number limit in seconds for a call that does not wait for other owners; default: 5
---@field unreachable_timeout? number a wait fails when the server cannot be used for this many seconds; default: 30
---@field fair_timeout? number a waiter of a fair lock loses its position when its client sends no heartbeat for this
---many seconds; the same for all clients of a lock; default: 30
---@field min_replicas? integer how many replicas must acknowledge a grant; default: the URL's, else 0
---@field replica_timeout? number limit for these acknowledgements in seconds; less than command_timeout, at most a
---third of watchdog_lease; default: 1
---@field durable? boolean whether a grant must be in the server's append-only file on disk; default: the URL's, else
---false
---@field release_on_close? boolean whether close() releases all holds, or lets their leases run out; default: true
---@field after_fork? "reopen"|"refuse" whether a forked child may use the client, with connections and a uuid of its
---own, made at the first use; or its calls fail with "forked"; default: "reopen"
---@field tls_ca_file? string with a rediss:// URL: CA certificates in PEM; default: the system's
---@field tls_ca_dir? string a folder of CA certificates, as openssl rehash makes it
---@field tls_cert_file? string the client's certificate chain in PEM
---@field tls_key_file? string its private key in PEM; default: tls_cert_file
---@field tls_server_name? string the name in the server's certificate; default: the URL's host
---@field tls_verify? "full"|"ca"|"none" verifies all, the CA but not the name, or nothing; default: "full"
---@field tls_min_version? "1.2"|"1.3" the oldest version of TLS; default: "1.2"
---@field tuning? redlatch.Tuning options that few programs change

---@class redlatch.Tuning
---@field busy_poll? boolean whether to busy-poll the socket before sleeping, where that is faster; default: true
---@field linger? number seconds that a subscription stays after its last waiter; default: 3
---@field dead_peer_timeout? number seconds after which a connection that delivers no reply is closed; default: 10
---@field dns_interval? number seconds after which the URL's host name is looked up again; default: 5
---@field close_timeout? number seconds that close() takes at most; default: 1
---@field claim_timeout? number seconds after which a grant whose event was not collected is released; default: 30
---@field sharded_messages? "auto"|"on"|"off" with a redis+cluster:// URL: whether messages stay within a shard, by
---SPUBLISH; "auto": if the node has it; the same for all clients of a name; default: the URL's, else "auto"

--- Returns a lock on several locks, which it holds all together or not at all. If a member is lost, the whole is lost.
---@param members redlatch.Lock[] up to 100 locks of single names, of any client and of any kind but fair. Locks of one
---client are acquired by one script
---@param given? {timeout: number?, lease: number?, max_hold: number?} as of Client:lock()
---@return redlatch.Lock
function redlatch.multi_lock(members, given)
    return lock.composite(members, false, given)
end

--- Returns a lock on a majority of independent servers, which stays held if a minority of them fails.
---@param members redlatch.Lock[] locks of single names, each of a client of its own for a server of its own; three at
---least, unless `allow_few` is true. Open the clients with `lazy`: a minority of the servers may be down, and without
---`lazy` connect() fails then
---@param given? {allow_few: boolean?, timeout: number?, lease: number?, max_hold: number?}
---@return redlatch.Lock
function redlatch.redlock(members, given)
    return lock.composite(members, true, given)
end

--- Opens a client and connects, unless the option `lazy` is true.
---@param url? string redis://[user[:password]@]host[:port][/database], unix://[user[:password]@]/path[?db=N],
---redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/service,
---redis+replicas://[user[:password]@]host[:port][,host[:port]...] or
---redis+cluster://[user[:password]@]host[:port][,host[:port]...]; rediss in place of redis for TLS; default: the
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

--- Returns whether the same call may succeed later without repair.
---@param code string what a failed call returned
---@return boolean
function redlatch.is_retryable(code)
    return core.status_is_retryable(outcome.status_of(code)) == 1
end

--- Returns whether the server may have executed the command although the call failed.
---@param code string what a failed call returned
---@return boolean
function redlatch.is_ambiguous(code)
    return core.status_is_ambiguous(outcome.status_of(code)) == 1
end

return redlatch
