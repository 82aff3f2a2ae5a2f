import { expect, it } from "@effect/vitest"
import { Cause, Context, Effect, Layer, Logger } from "effect"
import { ClusterError, RunnerAddress, RunnerStorage, ShardId } from "effect/cluster"
import { SqlError } from "effect/sql"
import * as LockWarnings from "../../src/cluster/LockWarnings.ts"

const readOnly = new SqlError.SqlError({
  reason: new SqlError.UnknownError({
    cause: Object.assign(new Error("cannot execute UPDATE in a read-only transaction"), { code: "25006" }),
    operation: "execute"
  })
})

it.effect("X6: a runner that cannot keep its locks says why, and what to do, once per outage", () =>
  Effect.gen(function* () {
    const said: Array<unknown> = []
    const logger = Logger.make(({ message }) => said.push(...(Array.isArray(message) ? message : [message])))
    let trouble: unknown
    const refusing = RunnerStorage.RunnerStorage.useSync((storage) =>
      RunnerStorage.RunnerStorage.of({
        ...storage,
        refresh: (address, shards) =>
          Effect.suspend(() =>
            trouble === undefined
              ? storage.refresh(address, shards)
              : Effect.fail(new ClusterError.PersistenceError({ cause: trouble }))
          )
      })
    )
    const storage = Context.get(
      yield* Layer.build(
        LockWarnings.layer("postgres://db/holdfast").pipe(
          Layer.provide(Layer.effect(RunnerStorage.RunnerStorage, refusing)),
          Layer.provide(RunnerStorage.layerMemory)
        )
      ),
      RunnerStorage.RunnerStorage
    )
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
    trouble = new Cause.TimeoutError()
    yield* refresh
    expect(said.slice(1)).toEqual([
      expect.stringContaining("it has not answered for 3s. The database cannot be reached.")
    ])
  })
)
