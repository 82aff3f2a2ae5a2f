/**
 * Lets a turn that may take the process down run alone (rule X14).
 *
 * Quarantine.N1. Suspects run one at a time, in the order in which they came, each until its next record.
 * Quarantine.N2. A suspect begins when no other turn runs. It waits no longer than `PATIENCE_MS` for that: a service that is never idle
 *     would never run it.
 * Quarantine.N3. While a suspect is alone other turns wait, and no longer than `HOLD_MS`: an answer may be slow without doing harm.
 */
import { Timer } from "@holdfast/journal"
import { Clock, Context, Effect, Layer } from "effect"

/** Longest wait of a suspect; most answers end within this time. */
export const PATIENCE_MS = 60_000

/** Longest time that other turns wait; an answer that exhausts the memory has done so within half of it. */
export const HOLD_MS = 60_000

/** A turn in memory. */
export interface Presence {
  /** The turn has made a record: it is not alone any more. */
  readonly progressed: () => void
  /** The turn has ended, or stops waiting for admission. */
  readonly leave: () => void
}

/** Admits turns so that a suspect runs alone. */
interface QuarantineService {
  /** A turn is about to run; `enter` is called when it may, at once or later. */
  readonly request: (isSuspect: boolean, enter: () => void) => Presence
}

/** The quarantine of a process. Without a layer every turn runs at once. */
export const Quarantine = Context.Reference<QuarantineService>("@holdfast/session-orchestrator/pacing/Quarantine", {
  defaultValue: () => ({
    request: (_isSuspect, enter) => {
      enter()
      return { progressed: () => {}, leave: () => {} }
    }
  })
})

/** The quarantine of this process. */
export const layer: Layer.Layer<never, never, Timer.Timer> = Layer.effect(
  Quarantine,
  Effect.gen(function* () {
    const timer = yield* Timer.Timer
    const clock = yield* Clock.Clock
    return make({ timer, now: () => clock.currentTimeMillisUnsafe() })
  })
)

/** Timer and clock of a quarantine. */
interface Dependencies {
  readonly timer: Pick<Timer.Timer["Service"], "at">
  readonly now: () => number
}

/** A quarantine without turns. */
export const make = (dependencies: Dependencies): QuarantineService => new Admissions(dependencies)

// --- internal

interface Entrant {
  state: "waiting" | "alone" | "among" | "gone"
  readonly enter: () => void
}

class Admissions implements QuarantineService {
  private readonly dependencies: Dependencies
  private readonly suspects: Array<Entrant> = []
  private readonly held = new Set<Entrant>()
  private others = 0
  private alone: Entrant | undefined = undefined
  private isHolding = false
  private cancel: (() => void) | undefined = undefined

  constructor(dependencies: Dependencies) {
    this.dependencies = dependencies
  }

  readonly request = (isSuspect: boolean, enter: () => void): Presence => {
    const entrant: Entrant = { state: "waiting", enter }
    if (isSuspect) {
      this.suspects.push(entrant)
      this.next()
    } else if (this.isHolding) this.held.add(entrant)
    else this.join(entrant)
    return { progressed: () => this.progressed(entrant), leave: () => this.leave(entrant) }
  }

  private join(entrant: Entrant): void {
    entrant.state = "among"
    this.others++
    entrant.enter()
  }

  private progressed(entrant: Entrant): void {
    if (entrant.state !== "alone") return
    entrant.state = "among"
    this.others++
    this.endAlone()
  }

  private leave(entrant: Entrant): void {
    const { state } = entrant
    entrant.state = "gone"
    switch (state) {
      case "waiting":
        this.held.delete(entrant)
        if (this.suspects.includes(entrant)) {
          if (this.suspects[0] === entrant && this.alone === undefined) this.stopClock()
          this.suspects.splice(this.suspects.indexOf(entrant), 1)
          this.next()
        }
        return
      case "alone":
        return this.endAlone()
      case "among":
        this.others--
        return this.next()
      case "gone":
        return
      default:
        state satisfies never
    }
  }

  /** Quarantine.N1, Quarantine.N2 */
  private next(): void {
    const [first] = this.suspects
    if (first === undefined || this.alone !== undefined) return
    if (this.others === 0) return this.admit()
    this.cancel ??= this.after(PATIENCE_MS, () => this.admit())
  }

  private admit(): void {
    this.stopClock()
    const entrant = this.suspects.shift()
    if (entrant === undefined) return
    entrant.state = "alone"
    this.alone = entrant
    this.isHolding = true
    this.cancel = this.after(HOLD_MS, () => this.release()) // Quarantine.N3
    entrant.enter()
  }

  private endAlone(): void {
    this.stopClock()
    this.alone = undefined
    this.release()
    this.next()
  }

  private release(): void {
    this.isHolding = false
    const held = Array.from(this.held)
    this.held.clear()
    for (const entrant of held) this.join(entrant)
  }

  private after(ms: number, act: () => void): () => void {
    const { now, timer } = this.dependencies
    return timer.at(now() + ms, act)
  }

  private stopClock(): void {
    this.cancel?.()
    this.cancel = undefined
  }
}
