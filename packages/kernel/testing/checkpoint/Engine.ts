/**
 * The engine behind a tested `Checkpoint`, and engines in memory.
 *
 * Engine.N1. A life of the turn is a scope. When it closes, its process is dead: only records survive.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Checkpoint, layerMemory } from "../../src/ports/Checkpoint.ts"
import type { Stored } from "../../src/records/Records.ts"

/** One turn of an engine. */
export interface Engine {
  /** Begins a life of the turn over the records of the lives before, all of which have ended (Engine.N1). */
  readonly live: Effect.Effect<Checkpoint["Service"], unknown, Scope.Scope>
}

/** Makes an engine for a new turn, without records. */
export type MakeEngine = Effect.Effect<Engine, unknown, Scope.Scope>

/** `layerMemory`, which records nothing: a turn has one life. */
export const forgetful: MakeEngine = Effect.succeed({ live: Effect.provide(Checkpoint, layerMemory) })

/** Keeps a journal that it reads before the turn runs, and supports marks. */
export const lookingAhead: MakeEngine = Effect.sync(() => {
  const records = new Map<string, string>()
  return {
    live: alive((isAlive) => ({
      known: Array.from(records, ([name, value]): Stored => ({ name, value })),
      mark: (name) => Effect.sync(() => void (isAlive() && records.set(name, "true"))),
      run: memoised(records, isAlive)
    }))
  }
})

/** Returns each result on request by its name, as Restate, Temporal and DBOS do: it has no `known`, and supports no marks. */
export const byName: MakeEngine = Effect.sync(() => {
  const records = new Map<string, string>()
  return { live: alive((isAlive) => ({ run: memoised(records, isAlive) })) }
})

/** Like `byName`, and throws when a `run` begins while another is under way, except for the tool calls of one response. */
export const unnested: MakeEngine = Effect.map(byName, ({ live }) => ({
  live: Effect.map(live, ({ run }) => {
    const underWay = new Set<string>()
    return {
      run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
        Effect.suspend(() => {
          for (const other of underWay) {
            if (!areSiblings(other, name)) throw new Error(`${name} begins while ${other} is under way`)
          }
          underWay.add(name)
          return Effect.ensuring(
            run(name, schema, effect),
            Effect.sync(() => underWay.delete(name))
          )
        })
    }
  })
}))

/** Whether two effects may be under way at once: they belong to different tool calls of one response. */
export const areSiblings = (one: string, other: string): boolean => {
  const [a, b] = [TOOL.exec(one), TOOL.exec(other)]
  return a !== null && b !== null && a[1] === b[1] && a[2] !== b[2]
}

// --- internal

const TOOL = /^step\/(\d+)\/tool\/(\d+)(?:\/begun)?$/

/** Engine.N1: effects that are left of an ended life record nothing. */
const alive = (begin: (isAlive: () => boolean) => Checkpoint["Service"]) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => ({ isAlive: true })),
      (life) => Effect.sync(() => (life.isAlive = false))
    ),
    (life) => begin(() => life.isAlive)
  )

const memoised =
  (records: Map<string, string>, isAlive: () => boolean): Checkpoint["Service"]["run"] =>
  (name, schema, effect) =>
    Effect.suspend(() => {
      const codec = Schema.fromJsonString(Schema.toCodecJson(schema))
      const known = records.get(name)
      if (known !== undefined) return Effect.orDie(Schema.decodeEffect(codec)(known))
      return Effect.tap(effect, (result) =>
        Effect.map(Effect.orDie(Schema.encodeEffect(codec)(result)), (value) => {
          if (isAlive()) records.set(name, value)
        })
      )
    })
