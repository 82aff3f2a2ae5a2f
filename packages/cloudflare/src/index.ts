/**
 * Turns in a Durable Object: its storage keeps them, and its alarm ends their waits.
 *
 * DurableTurns.D1. While a turn is unsealed an alarm is set: for the end of its wait, or soon, in case the object is evicted in the
 *     middle of a call. A turn that cannot be recorded is continued less and less often.
 * DurableTurns.D2. An alarm that is set is moved to a later time only when all turns of the object are known to wait until then.
 */
import { durableObjectStore, type DurableObjectStorage, holdfast } from "holdfast"
import type { Holdfast, Options, Prompt, Result, Turn, TurnOptions } from "holdfast"

/** The part of a Durable Object's `ctx` that turns need. */
export interface DurableObjectState {
  readonly storage: DurableObjectStorage & {
    getAlarm(): Promise<number | null>
    setAlarm(time: number): Promise<void>
    deleteAlarm(): Promise<void>
  }
}

/** The turns of one Durable Object. */
export interface DurableTurns {
  /** Begins a turn, or finds the turn of this id. Its result is `parked` when the turn has left memory; the same call later gives the answer. */
  turn(prompt: Prompt, options?: Omit<TurnOptions, "engine" | "history">): Turn
  /** What the object's `alarm` calls: it continues every turn that is due, or that an eviction cut off. */
  alarm(): Promise<void>
  /** The library beneath: events of all turns (`on`, `subscribe`), and `autoRetry`. */
  readonly holdfast: Holdfast
}

/** How soon an object looks for turns that an eviction cut off, in milliseconds: twice the shortest time after which an idle object is evicted. */
const SOON_MS = 20_000

/** The longest time between two runs of a turn that cannot be recorded: each of them may call the model. */
const MAX_SOON_MS = 3_600_000

/**
 * Makes the turns of a Durable Object. The object's alarm is theirs.
 *
 * **Example** (An object whose turns survive its eviction)
 *
 * ```ts
 * class Agent extends DurableObject {
 *   turns = durableTurns(this.ctx, { model, retry: "overnight" })
 *   ask = (id: string, prompt: string) => this.turns.turn(prompt, { id }).result
 *   alarm = () => this.turns.alarm()
 * }
 * ```
 */
export const durableTurns = (
  { storage }: DurableObjectState,
  options: Omit<Options, "store" | "park">
): DurableTurns => {
  const running = new Set<Turn>()
  const wakeAt = async (time: number): Promise<void> => {
    const set = await storage.getAlarm()
    if (set === null || set > time) await storage.setAlarm(time) // DurableTurns.D2
  }
  const store = durableObjectStore(storage)
  let guarded: Promise<void> = Promise.resolve()
  let failures = 0
  const library = holdfast({
    ...options,
    // A turn is in the store when its alarm is (DurableTurns.D1).
    store: { ...store, put: (key, value) => guarded.then(() => store.put(key, value)) },
    park: ({ retryAt }) => wakeAt(retryAt.getTime())
  })
  const follow = (turn: Turn): void => {
    running.add(turn)
    guarded = guarded.then(() => wakeAt(Date.now() + SOON_MS))
    const over = () => void running.delete(turn)
    turn.result.then(over, over)
  }
  return {
    holdfast: library,
    turn: (prompt, chosen) => {
      const turn = library.turn(prompt, chosen)
      if (!running.has(turn)) follow(turn)
      return turn
    },
    alarm: async () => {
      for (const turn of await library.resume()) follow(turn)
      const results = await Promise.allSettled(Array.from(running, (turn) => turn.result))
      await guarded
      if (running.size > 0) return
      failures = results.some(({ status }) => status === "rejected") ? failures + 1 : 0
      const again = failures === 0 ? Infinity : Date.now() + Math.min(SOON_MS * 2 ** failures, MAX_SOON_MS)
      const next = Math.min(again, ...results.map((settled) => waitOf(settled)))
      await (next === Infinity ? storage.deleteAlarm() : storage.setAlarm(next)) // DurableTurns.D2
    }
  }
}

// --- internal

/** When a turn's wait ends; `Infinity`: it is sealed. */
const waitOf = (settled: PromiseSettledResult<Result>): number =>
  settled.status === "fulfilled" && settled.value.status === "parked" ? settled.value.retryAt.getTime() : Infinity
