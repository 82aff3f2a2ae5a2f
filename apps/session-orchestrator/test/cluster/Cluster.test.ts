import { expect } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Logger } from "effect"
import { ClusterError, RunnerAddress, RunnerStorage, ShardId } from "effect/cluster"
import { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Cluster from "../../src/cluster/Cluster.ts"
import * as It from "../It.ts"

const readOnly = new SqlError.SqlError({
  reason: new SqlError.UnknownError({
    cause: Object.assign(new Error("cannot execute UPDATE in a read-only transaction"), { code: "25006" }),
    operation: "execute"
  })
})

It.effect("rule X6: a runner that cannot keep its locks logs reason and next step, once per outage", function* () {
  const said: Array<unknown> = []
  const logger = Logger.make(({ message }) => said.push(...(Array.isArray(message) ? message : [message])))
  let trouble: unknown
  const memory = yield* RunnerStorage.makeMemory
  const storage = Cluster.loggedLocks("postgres://db/holdfast", {
    ...memory,
    refresh: (address, shards) =>
      Effect.suspend(() => {
        if (trouble === undefined) return memory.refresh(address, shards)
        if (trouble === "silence") return Effect.never
        return Effect.fail(new ClusterError.PersistenceError({ cause: trouble }))
      })
  })
  const refresh = Effect.exit(storage.refresh(RunnerAddress.make("127.0.0.1", 1), [ShardId.make("default", 1)])).pipe(
    Effect.provide(Logger.layer([logger]))
  )
  yield* refresh
  expect(said).toEqual([])
  trouble = readOnly
  yield* Effect.repeat(refresh, { times: 3 })
  expect(said).toEqual([
    'Could not keep the locks of this runner in postgres://db/holdfast: the database said "cannot execute UPDATE in a read-only transaction". ' +
      "It takes no writes: it is a standby, or was set to read-only. Set database.url to the primary. " +
      "Its turns stop, and go on at the runner that has their locks next."
  ])
  trouble = undefined
  yield* refresh
  trouble = "silence"
  const silent = yield* Effect.forkChild(refresh, { startImmediately: true })
  // The cluster itself would give it up at its limit, and these words would be lost.
  yield* TestClock.adjust(Duration.subtract(Cluster.REFRESH_LIMIT, Duration.millis(1)))
  expect(Exit.isFailure(yield* Fiber.join(silent))).toBe(true)
  expect(said.slice(1)).toEqual([
    expect.stringContaining("it has not answered for 2s. The database cannot be reached.")
  ])
})
