/**
 * Keeps each turn's position in its script.
 *
 * No more than `MAX_TURNS` are kept; the least recently used ones are forgotten first. A turn has one position per script, so a turn
 * that switches between two models continues each where it was. The chance of a request is a function of the script, the turn and the
 * number of its request: one course for one script.
 *
 * Where a turn has no id and is identified by its text, it is forgotten once its last phase has answered it: the same text later gets the
 * same script again. Turns with an id never start again. The clock of a script with spans begins with the earliest turn that has called it,
 * so an outage by the clock continues over a restart once a turn of that time calls again.
 */
import { type Outcome, isClocked, isFailure, next, resume, type Script } from "./script/Script.ts"

/** The most turns that are kept: far more than fail at once, and a few megabytes. */
const MAX_TURNS = 10_000

/** The most scripts whose clocks are kept: a prompt may contain any script. */
const MAX_CLOCKS = 1_000

/** The state of a turn before its first request in this process. */
export interface TurnOrigin {
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** Requests made before this process counted any; more than 0 after a restart. */
  readonly attempts: number
}

/** The outcome of a request, and the failures before it in its turn. */
export interface CurrentRequest {
  readonly outcome: Outcome
  readonly failures: number
  readonly startedAt: number
}

/** The positions of all turns. */
export interface TurnProgress {
  /** Counts a request and returns its outcome. `name` is the script's name. */
  readonly take: (
    turn: string,
    name: string,
    script: Script,
    origin: TurnOrigin,
    now: number,
    bytes: () => number
  ) => CurrentRequest
  /** The number of turns that are kept. */
  readonly size: () => number
}

/** How turns are forgotten. */
export interface Options {
  readonly forgetsAnswered?: boolean
  readonly maxTurns?: number
  /** When the clock of all scripts began, in epoch milliseconds; absent: with the earliest turn that has called a script. */
  readonly openedAt?: number
}

/** The positions of no turns yet. */
export const make = ({ forgetsAnswered = false, maxTurns = MAX_TURNS, openedAt }: Options = {}): TurnProgress => {
  const turns = new Map<string, Turn>()
  const clocks = new Map<string, number>()
  const clockOf = (name: string, script: Script, startedAt: number): number => {
    if (openedAt !== undefined || !isClocked(script)) return openedAt ?? startedAt
    if (clocks.size >= MAX_CLOCKS && !clocks.has(name)) clocks.clear()
    const clock = Math.min(startedAt, clocks.get(name) ?? Infinity)
    clocks.set(name, clock)
    return clock
  }
  /** Forgets a tenth at once: finding the first key of a map skips all keys that were deleted before it. */
  const forgetOldest = () => {
    let left = Math.max(1, Math.floor(maxTurns / 10))
    for (const key of turns.keys()) {
      turns.delete(key)
      if (--left === 0) return
    }
  }
  return {
    take: (key, name, script, origin, now, bytes) => {
      const turn: Turn = turns.get(key) ?? {
        startedAt: origin.startedAt,
        failures: origin.attempts,
        requests: origin.attempts,
        served: new Map([[name, resume(script, origin.attempts)]])
      }
      const { failures, startedAt } = turn
      const opened = clockOf(name, script, startedAt)
      const chance = chanceOf(`${name}\n${key}\n${turn.requests++}`)
      const served = turn.served.get(name) ?? 0
      const step = next(script, { served, startedAt, openedAt: opened, now, chance, bytes })
      turn.served.set(name, step.served)
      if (isFailure(step.outcome)) turn.failures += 1
      turns.delete(key)
      const answered = step.last && (step.outcome._tag === "Answer" || step.outcome._tag === "Refusal")
      if (!answered || !forgetsAnswered) turns.set(key, turn)
      if (turns.size > maxTurns) forgetOldest()
      return { outcome: step.outcome, failures, startedAt }
    },
    size: () => turns.size
  }
}

// --- internal

interface Turn {
  readonly startedAt: number
  failures: number
  requests: number
  readonly served: Map<string, number>
}

/** From 0 (included) to 1 (excluded): 32-bit FNV-1a, with the final mix of MurmurHash 3, as short texts that differ in a digit need. */
const chanceOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
