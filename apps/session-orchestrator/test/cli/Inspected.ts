/** The readers of a database in memory, for command lines. */
import { Effect, Layer } from "effect"
import { Inspection } from "../../src/insight/inspection/Inspection.ts"
import * as PeriodReports from "../../src/insight/inspection/period/PeriodReports.ts"
import * as StoredTurns from "../../src/insight/inspection/StoredTurns.ts"
import * as Secrets from "../../src/config/redaction/Secrets.ts"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"

/** With the turns that `fill` writes; `listed` is what lists them. */
export const layer = (
  fill: Effect.Effect<unknown, unknown, SqlStore.Storage> = Effect.void,
  listed: Partial<Inspection["Service"]> = {}
) =>
  Layer.mergeAll(
    PeriodReports.layer,
    StoredTurns.layer,
    Layer.succeed(Inspection, {
      database: "a.db",
      turns: () => Effect.die("not asked for"),
      isUnserved: Effect.succeed(true),
      ...listed
    })
  ).pipe(
    Layer.provideMerge(Layer.effectDiscard(Effect.orDie(fill)).pipe(Layer.provideMerge(SqlStore.layerMemory))),
    Layer.provide(Secrets.layer)
  )
