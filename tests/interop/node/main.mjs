// SPDX-License-Identifier: Apache-2.0
// A process that locks with node-redlock as it is told: requests come as JSON lines on standard input, answers go as
// JSON lines to standard output, in whatever order they are done. It ends when its input ends.
//
// Requests and answers are those of ../go/main.go, with the one library "redlock".
import { createInterface } from "node:readline";
import Redis from "ioredis";
import { default as Redlock, ExecutionError, ResourceLockedError } from "redlock";

const RETRY_DELAY = 10;

const handles = new Map();

class Handle {
  constructor(urls, name) {
    this.redlock = new Redlock(urls.map((url) => new Redis(url)), { retryJitter: 0, automaticExtensionThreshold: 0 });
    this.redlock.on("error", () => {}); // the calls tell
    this.name = name;
    this.lock = null;
  }

  async acquire(wait, lease) {
    const settings = { retryCount: Math.floor(wait / RETRY_DELAY), retryDelay: RETRY_DELAY };
    return this.succeeds(async () => {
      this.lock = await this.redlock.acquire([this.name], lease, settings);
    });
  }

  async extend(lease) {
    return this.succeeds(async () => {
      this.lock = await this.redlock.extend(this.lock, lease, { retryCount: 0 });
    });
  }

  async release() {
    return this.succeeds(() => this.redlock.release(this.lock, { retryCount: 0 }));
  }

  // Whether the servers agreed; an error if one of them said something else than that the lock is another's.
  async succeeds(attempt) {
    try {
      await attempt();
      return true;
    } catch (error) {
      if (!(error instanceof ExecutionError)) {
        throw error;
      }
      for (const votes of await Promise.all(error.attempts)) {
        for (const vote of votes.votesAgainst.values()) {
          if (!(vote instanceof ResourceLockedError)) {
            throw vote;
          }
        }
      }
      return false;
    }
  }
}

async function carryOut(request) {
  if (request.call === "open") {
    if (request.library !== "redlock") {
      throw new Error(`there is no library '${request.library}'; expected redlock`);
    }
    handles.set(request.handle, new Handle(request.urls, request.name));
    return null;
  }
  const handle = handles.get(request.handle);
  if (handle === undefined) {
    throw new Error(`there is no handle ${request.handle}; expected one that was opened`);
  }
  switch (request.call) {
    case "acquire":
      return handle.acquire(request.wait_ms, request.lease_ms);
    case "extend":
      return handle.extend(request.lease_ms);
    case "release":
      return handle.release();
    case "ttl_ms":
      return handle.lock.expiration - Date.now();
    default:
      throw new Error(`there is no call '${request.call}'; expected open, acquire, extend, release or ttl_ms`);
  }
}

async function serve(line) {
  const request = JSON.parse(line);
  const started = performance.now();
  let outcome;
  try {
    outcome = { result: await carryOut(request) };
  } catch (error) {
    outcome = { error: error.name, message: error.message };
  }
  process.stdout.write(JSON.stringify({ id: request.id, ms: performance.now() - started, ...outcome }) + "\n");
}

const lines = createInterface({ input: process.stdin });
lines.on("line", serve);
lines.on("close", () => process.exit(0));
