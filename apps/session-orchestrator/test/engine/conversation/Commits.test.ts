/** Counts a turn's commits: each is a full sync, and some delay the client. */
import { SqliteClient } from "@holdfast/journal/sqlite"
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import { type Options, type Service, watching, withService } from "./ConversationSetup.ts"
import type * as It from "../../It.ts"

const { answer, call, hangs, text, tools, unauthorized } = ScriptedProvider

/** A turn with a given id begins when it is accepted. */
const id = Ids.TurnId.make

/** A service whose commits are counted from its start on. */
const counting = (options: Options, test: It.Body<[commits: { count: number }, Service]>) => {
  const commits = { count: 0 }
  const client = Layer.effect(
    SqlClient.SqlClient,
    Effect.map(SqliteClient.make({ filename: ":memory:" }), (sql) => {
      const withTransaction: typeof sql.withTransaction = (effect) =>
        Effect.tap(sql.withTransaction(effect), () => Effect.sync(() => commits.count++))
      return new Proxy(sql, {
        get: (target, key) => (key === "withTransaction" ? withTransaction : Reflect.get(target, key))
      })
    })
  ).pipe(Layer.provide(Reactivity.layer), Layer.orDie)
  const storage = SqlStore.layerSql("memory").pipe(Layer.provide(client))
  return withService({ ...options, storage }, (service) => test(commits, service))
}

describe("the commits of a single turn", () => {
  it.effect("rule X1: are three, two of them before its first delta", () => {
    const shown = Deferred.makeUnsafe<void>()
    return counting({ scripts: [hangs(shown, text("Hel"))] }, function* (commits, { conversations }) {
      const c = yield* conversations.create({})
      const watcher = yield* watching(conversations.watch(c, 0))
      commits.count = 0
      const turnId = yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
      yield* watcher.until("text-delta")
      assert.strictEqual(commits.count, 2)
      yield* conversations.abort(c)
      assert.deepStrictEqual([(yield* conversations.result(turnId)).end.status, commits.count], ["aborted", 3])
    })
  })

  it.effect(
    "rules X1, D9: are three for an answered turn: acceptance, mark, answer and seal; a final failure is one commit",
    () =>
      counting({ scripts: [answer("Hello"), ScriptedProvider.emits(unauthorized)] }, function* (commits, service) {
        const c = yield* service.conversations.create({})
        for (const [status, expected] of [
          ["completed", 3],
          ["failed", 2]
        ] as const) {
          commits.count = 0
          const turnId = yield* service.conversations.prompt(c, { prompt: "Hi", turnId: id(status) })
          assert.strictEqual((yield* service.conversations.result(turnId)).end.status, status)
          assert.strictEqual(commits.count, expected)
        }
      })
  )

  it.effect("rule X8: contain the model's answer with tool calls before any tool begins", () =>
    counting({ scripts: [tools(call("a")), answer("Hello")] }, function* (commits, { conversations, log }) {
      const c = yield* conversations.create({})
      commits.count = 0
      const turnId = yield* conversations.prompt(c, { prompt: "Hi", turnId: id("a") })
      yield* conversations.result(turnId)
      const names = (yield* log.load(turnId)).map(({ name }) => name)
      const first = ["step/0/attempt/0/content", "step/0/attempt/0", "step/0/tool/0/begun", "step/0/tool/0"]
      assert.deepStrictEqual(names, [...first, "step/1/attempt/0/content", "step/1/attempt/0"])
      // Acceptance, mark, answer and begun, tool and its message, mark, answer and seal.
      assert.strictEqual(commits.count, 6)
    })
  )
})
