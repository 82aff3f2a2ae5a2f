/** Tests commands over HTTP: after a 202 the database file contains their effect. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import type { Profile } from "@holdfast/policy"
import { Duration, Effect } from "effect"
import * as DatabaseReads from "./DatabaseReads.ts"
import * as Service from "./Service.ts"

const { ErrorBody } = ScriptedServer

const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }

const steps = (delay: Duration.Duration): Profile.RetrySettings => ({
  schedule: { type: "steps", delays: [delay], tail: delay }
})

/** A turn that waits, in memory or on disk alone. */
const waiting = (delay: Duration.Duration) =>
  Effect.gen(function* () {
    const database = yield* TemporaryFile.temporaryFile
    const provider = yield* ScriptedServer.start()
    provider.fallback(overloaded)
    const service = yield* Service.start({ provider, database, retry: steps(delay) })
    const id = yield* service.create()
    const live = yield* service.open({
      path: `/v1/conversations/${id}/turns`,
      headers: { accept: "application/x-ndjson" },
      body: { prompt: "Hello", turnId: "one" }
    })
    yield* live.until("provider-retry")
    const post = (name: string, body: object) => service.call({ path: `/v1/conversations/${id}/${name}`, body })
    return { database, post, service, id }
  })

const EACH: ReadonlyArray<readonly [string, object]> = [
  ["extend-budget", { byMs: 1_000 }],
  ["wait-until", { until: Date.now() + 3_600_000 }],
  ["switch-target", { model: "scripted/other" }],
  ["retry-now", {}],
  ["abort-retry", {}]
]

describe("a 202", () => {
  for (const [where, delay] of [
    ["in memory", Duration.seconds(4)],
    ["on disk alone", Duration.hours(1)]
  ] as const) {
    for (const [name, body] of EACH) {
      it.live(`rule X4: to ${name}, on a turn that waits ${where}, comes after the record`, () =>
        Effect.gen(function* () {
          const { database, post } = yield* waiting(delay)
          const answer = yield* post(name, { ...body, commandId: "k" })
          assert.deepStrictEqual([answer.status, DatabaseReads.commandsOf(database, "one")], [202, ["k"]])
        })
      )
    }

    it.live(`rule X4: goes to both clients that send one command at once, to a turn that waits ${where}`, () =>
      Effect.gen(function* () {
        const { database, post } = yield* waiting(delay)
        const answers = yield* Effect.forEach(["k", "k", "k"], (commandId) => post("retry-now", { commandId }), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [202, 202, 202]
        )
        assert.deepStrictEqual(DatabaseReads.commandsOf(database, "one"), ["k"])
      })
    )

    it.live(`rule D8: to an abort of a turn that waits ${where} comes after the seal`, () =>
      Effect.gen(function* () {
        const { database, id, service } = yield* waiting(delay)
        const { status } = yield* service.call({ path: `/v1/conversations/${id}/abort`, method: "POST" })
        assert.deepStrictEqual([status, DatabaseReads.sealOf(database, "one")], [202, "aborted"])
      })
    )
  }
})
