/**
 * How far each turn has come in its script.
 *
 * G1. Where turns are told apart by what they say, a turn is forgotten once its last scene has answered it: the same words
 *     later meet the same script again. Turns with an identity are never begun anew.
 * G2. No more than `MAX_TURNS` are remembered; those that were asked about longest ago go first.
 * G3. Scripts are counted apart within a turn, so that a turn that moves between two models finds each where it left it.
 */
import { type Act, isFailure, next, resume, type Script } from "./Script.ts"

/** Far more turns than fail at once, and a few megabytes. */
const MAX_TURNS = 10_000

/** What is known of a turn before anything of it was counted here. */
export interface Origin {
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** Requests that were made before this process counted any: more than 0 after a restart. */
  readonly attempts: number
}

/** A request's scene, and what came before it in its turn. */
export interface Played {
  readonly act: Act
  readonly failures: number
  readonly startedAt: number
}

export interface Tally {
  /** Counts a request and says what it meets. `script` is known by `name`. */
  readonly take: (turn: string, name: string, script: Script, origin: Origin, now: number) => Played
  /** Turns that are remembered. */
  readonly size: () => number
}

export interface Options {
  /** G1 */
  readonly forgetsAnswered?: boolean
  /** G2 */
  readonly maxTurns?: number
}

/** Remembers nothing yet. */
export const make = ({ forgetsAnswered = false, maxTurns = MAX_TURNS }: Options = {}): Tally => {
  const turns = new Map<string, Turn>()
  /** Many at once: the way to the first key of a map leads past all that were deleted before it. */
  const forgetOldest = () => {
    let left = Math.max(1, Math.floor(maxTurns / 10))
    for (const key of turns.keys()) {
      turns.delete(key)
      if (--left === 0) return
    }
  }
  return {
    take: (key, name, script, origin, now) => {
      const turn: Turn = turns.get(key) ?? {
        startedAt: origin.startedAt,
        failures: origin.attempts,
        played: new Map([[name, resume(script, origin.attempts)]])
      }
      const { failures, startedAt } = turn
      const step = next(script, { played: turn.played.get(name) ?? 0, startedAt, now })
      turn.played.set(name, step.played)
      if (isFailure(step.act)) turn.failures += 1
      turns.delete(key)
      const answered = step.last && (step.act._tag === "Answer" || step.act._tag === "Refusal")
      if (!answered || !forgetsAnswered) turns.set(key, turn)
      if (turns.size > maxTurns) forgetOldest() // G2
      return { act: step.act, failures, startedAt }
    },
    size: () => turns.size
  }
}

// --- internal

interface Turn {
  readonly startedAt: number
  failures: number
  readonly played: Map<string, number>
}
