/**
 * Replaces the clock, the timers, the chance and the order of tasks of this JavaScript process, from a seed.
 *
 * World.W1. While a world runs, the event loop does not turn: no socket, file, thread or real timer can take part. Each task is followed by
 *     all its microtasks, as in Node, through `process.nextTick`.
 * World.W2. Time passes only when no task is ready. Then it is that of the next timer, to the millisecond.
 * World.W3. A task belongs to the process in which it was made. Tasks of a process that died are dropped, and nothing of them happens.
 */
import { syncBuiltinESMExports } from "node:module"
import process from "node:process"
import { Heap } from "@holdfast/policy"
import type * as Chance from "./Chance.ts"

/** A simulated process. A frozen one does nothing until it thaws, and what is due meanwhile is done then. */
export interface Process {
  readonly name: string
  isAlive: boolean
  thawAt?: number
}

/** The beginning of every night: 2031-04-01 22:00 UTC. */
const START_MS = Date.UTC(2031, 3, 1, 22)

/** How ready tasks are ordered: as in Node, or by chance. */
export type Order = "in-order" | "by-chance"

export class World {
  now = START_MS
  /** Tasks that have run. */
  tasks = 0
  /** The process whose task runs, microtasks included; `undefined`: people, networks and providers. */
  current: Process | undefined = undefined
  /** Called before each task. */
  beforeTask: () => void = () => {}
  private readonly chance: Chance.Chance
  private readonly order: Order
  private readonly ready: Array<Task> = []
  private readonly timers = new Heap.Heap<Timer>((timer) => timer.at)
  private made = 0

  constructor(chance: Chance.Chance, order: Order) {
    this.chance = chance
    this.order = order
  }

  /** How long the night has lasted. */
  get elapsedMs(): number {
    return this.now - START_MS
  }

  /** Runs `act` outside of all processes, `ms` from now. */
  after(ms: number, act: () => void): () => void {
    const timer = this.timer(this.now + ms, act, undefined)
    return () => timer.clear()
  }

  /** Runs `act` as a task of a process. */
  within(owner: Process, act: () => void): void {
    if (owner.isAlive) this.ready.push({ owner, act })
  }

  /** A process stands still for so long, unless it does for longer; the others go on. */
  freeze(owner: Process, ms: number): void {
    const thawAt = Math.max(owner.thawAt ?? 0, this.now + ms)
    owner.thawAt = thawAt
    this.after(ms, () => {
      if (owner.thawAt !== thawAt || this.now < thawAt) return
      this.ready.push(...(this.held.get(owner) ?? []))
      this.held.delete(owner)
    })
  }

  /** The thread of the process stands still. */
  stall(ms: number): void {
    this.now += ms
  }

  /** Timers of a process, without those of the distant future. */
  timersOf(owner: Process): number {
    let count = 0
    for (const timer of this.live) if (timer.owner === owner) count++
    return count
  }

  /** Runs until nothing is left to do, or `isOver`. Rejects with what a task throws. */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const uninstall = this.install()
      const end = (act: () => void): void => {
        uninstall()
        act()
      }
      const step = (): void => {
        try {
          const task = isOver() ? undefined : this.next()
          if (task === undefined) return end(resolve)
          this.tasks++
          this.beforeTask()
          this.current = task.owner
          if (task.owner?.isAlive !== false) task.act()
        } catch (error) {
          return end(() => reject(error))
        }
        follow()
      }
      // A microtask, which runs among those of the task: the next step follows when they are all done (World.W1).
      const follow = (): void => void settled.then(soon)
      const soon = (): void => this.tick(next)
      const next = (): void => (this.ticks === 0 ? step() : follow())
      this.tick(step)
    })
  }

  // --- internal

  /** What frozen processes have to do. */
  private readonly held = new Map<Process, Array<Task>>()
  private readonly live = new Set<Timer>()
  /** Node's own, and how many calls of it by the service are still to come. */
  private readonly tick = process.nextTick
  private ticks = 0

  private timer(at: number, act: () => void, owner: Process | undefined): Timer {
    const timer = new Timer(this, at, act, owner)
    this.arm(timer)
    return timer
  }

  arm(timer: Timer): void {
    this.timers.add(timer)
    this.live.add(timer)
  }

  disarm(timer: Timer): void {
    this.timers.delete(timer)
    this.live.delete(timer)
  }

  private next(): Task | undefined {
    while (true) {
      if (this.ready.length > 0) {
        const at = this.order === "in-order" ? 0 : this.chance.between(0, Math.min(this.ready.length, AMONG) - 1)
        const [task] = this.ready.splice(at, 1)
        if (task !== undefined && this.isNow(task)) return task
        continue
      }
      const timer = this.timers.first
      if (timer === undefined) return undefined
      this.disarm(timer)
      if (!this.isNow(timer)) continue
      this.now = Math.max(this.now, timer.at)
      return timer
    }
  }

  /** Whether a task is done now: not of a dead process, and later of a frozen one. */
  private isNow(task: Task): boolean {
    const { owner } = task
    if (owner === undefined) return true
    if (!owner.isAlive) return false
    if ((owner.thawAt ?? 0) <= this.now) return true
    this.held.set(owner, [...(this.held.get(owner) ?? []), task])
    return false
  }

  /** Puts this world in the place of the real one. */
  private install(): () => void {
    const undone: Array<() => void> = []
    const replace = (target: object, name: string, value: unknown): void => {
      const own = Object.getOwnPropertyDescriptor(target, name)
      Object.defineProperty(target, name, {
        value,
        configurable: true,
        writable: true,
        enumerable: own?.enumerable ?? false
      })
      undone.push(() => {
        if (own === undefined) Reflect.deleteProperty(target, name)
        else Object.defineProperty(target, name, own)
      })
    }
    const { chance } = this
    random = chance
    undone.push(() => (random = undefined))
    const after = (act: (...args: ReadonlyArray<unknown>) => void, ms = 0, ...args: ReadonlyArray<unknown>): Timer =>
      this.timer(this.now + Math.max(1, Math.trunc(Number(ms)) || 1), () => act(...args), this.current)
    const clear = (timer: unknown): void => {
      if (timer instanceof Timer) timer.clear()
    }
    replace(globalThis, "setTimeout", after)
    replace(globalThis, "clearTimeout", clear)
    replace(globalThis, "setInterval", (act: () => void, ms?: number) => {
      const timer = after(() => {
        timer.refresh()
        act()
      }, ms)
      return timer
    })
    replace(globalThis, "clearInterval", clear)
    replace(
      globalThis,
      "setImmediate",
      (act: (...args: ReadonlyArray<unknown>) => void, ...args: ReadonlyArray<unknown>) => {
        const task: Immediate = { owner: this.current, act: () => act(...args), drop: () => (task.act = () => {}) }
        this.ready.push(task)
        return task
      }
    )
    replace(globalThis, "clearImmediate", (task: Immediate | undefined) => task?.drop())
    replace(process, "nextTick", (act: (...args: ReadonlyArray<unknown>) => void, ...args: ReadonlyArray<unknown>) => {
      this.ticks++
      this.tick(() => {
        this.ticks--
        act(...args)
      })
    })
    replace(Date, "now", () => this.now)
    replace(performance, "now", () => this.elapsedMs)
    replace(process.hrtime, "bigint", () => BigInt(this.elapsedMs) * 1_000_000n)
    replace(Math, "random", chance.next)
    replace(globalThis.crypto, "randomUUID", () => this.uuid())
    replace(globalThis.crypto, "getRandomValues", (bytes: Uint8Array) => bytes.map(() => chance.between(0, 255)))
    return () => undone.toReversed().forEach((undo) => undo())
  }

  private uuid(): string {
    const part = (length: number): string =>
      Array.from({ length }, () => this.chance.between(0, 15).toString(16)).join("")
    return `${(++this.made).toString(16).padStart(8, "0")}-${part(4)}-4${part(3)}-8${part(3)}-${part(12)}`
  }
}

/** The chance of the world that runs. */
let random: Chance.Chance | undefined

// Modules import this one by name: it is replaced once, and chance is that of the world that runs.
const crypto = process.getBuiltinModule("node:crypto")
const { randomBytes } = crypto
const chosen = (size: number): Buffer => {
  const { between } = random ?? { between: undefined }
  return between === undefined ? randomBytes(size) : Buffer.from(Array.from({ length: size }, () => between(0, 255)))
}
Object.defineProperty(crypto, "randomBytes", { value: chosen })
syncBuiltinESMExports()

/** Ready tasks that chance chooses among. */
const AMONG = 4

const settled = Promise.resolve()

interface Task {
  readonly owner: Process | undefined
  act: () => void
}

interface Immediate extends Task {
  readonly drop: () => void
}

/** What `setTimeout` returns. */
class Timer implements Task {
  at: number
  readonly act: () => void
  readonly owner: Process | undefined
  private readonly world: World
  private readonly ms: number

  constructor(world: World, at: number, act: () => void, owner: Process | undefined) {
    this.world = world
    this.ms = at - world.now
    this.at = at
    this.act = act
    this.owner = owner
  }

  clear(): void {
    this.world.disarm(this)
  }
  refresh(): this {
    this.clear()
    this.at = this.world.now + this.ms
    this.world.arm(this)
    return this
  }
  ref = (): this => this
  unref = (): this => this
  hasRef = (): boolean => true
}
