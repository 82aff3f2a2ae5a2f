/**
 * The processes of a night: they start, take calls, die, stop in order, and the next one follows in the place of each.
 *
 * One process has the disk alone, or several runners share it: those freeze, lose their locks, and do not reach each other.
 */
import * as Lease from "../../apps/session-orchestrator/src/cluster/Lease.ts"
import type * as Chance from "./Chance.ts"
import type * as Disk from "./Disk.ts"
import type { Laws } from "./Laws.ts"
import type * as Plan from "./Plan.ts"
import type { Shared } from "./Runner.ts"
import * as Service from "./Service.ts"
import type { Timeline } from "./Timeline.ts"
import type { Process, World } from "./World.ts"

/** What processes are made of, and what follows from them. */
export interface Options {
  readonly world: World
  readonly laws: Laws
  readonly timeline: Timeline
  readonly disk: Disk.Disk
  readonly around: Pick<Service.Options, "network" | "tools">
  readonly settings: Plan.Plan["settings"]
  /** Of several runners. */
  readonly shared: Shared | undefined
  readonly runners: number
  /** Between a runner and the database. */
  readonly distanceMs: number
  /** Which runner a client calls. */
  readonly chance: Chance.Chance
  /** All processes take calls, for the first time. */
  readonly begun: () => void
  /** A process is gone, or may have lost turns; its clients have not noticed yet. */
  readonly gone: () => void
  readonly met: (fault: string) => void
}

/** A start that failed is repeated. */
const RESTART_MS = 5_000

/** A process that stops is killed after so long, as the service manager does. */
const STOP_MS = 30_000

/** When all of several runners take calls for the first time, they have divided the conversations after so long. */
const SETTLED_MS = 6_000

/** After a trouble of a runner its turns run at another one by then (Cluster.L2). */
const TAKEN_OVER_MS = 30_000

/** Longer than any night. */
const FOR_GOOD_MS = 100 * 86_400_000

/** Where runners listen for each other. */
const FIRST_PORT = 7_000

export class Fleet {
  /** Every log line. */
  readonly logLines: Array<string> = []
  /** When runners wrote that they had taken turns over. */
  readonly tookOver: Array<number> = []
  /** Processes that were started. */
  lives = 0
  /** When the newest process took calls. */
  readyAt = 0
  /** The last time at which the disk or a process was in trouble. */
  troubleAt = 0
  /** The last time at which the disk was. */
  diskTroubleAt = 0
  /** Nothing dies any more. */
  isHealed = false
  private readonly options: Options
  /** The newest process of each place. */
  private readonly places: Array<Service.Life | undefined>
  private isBegun = false
  private readonly waiting: Array<() => void> = []
  private leaving: Array<{ readonly life: Service.Life; readonly act: () => void }> = []

  constructor(options: Options) {
    this.options = options
    this.places = Array.from({ length: options.runners }, () => undefined)
  }

  /** The processes that are there. */
  get all(): ReadonlyArray<Service.Life> {
    return this.places.flatMap((life) => (life?.isAlive === true ? [life] : []))
  }

  /** Whether several runners share the conversations. */
  get isShared(): boolean {
    return this.places.length > 1
  }

  /** How late a turn may be that writes before it calls: to the database and back, behind another statement. */
  get lateMs(): number {
    return 5 * this.options.distanceMs
  }

  /** The process that a client calls: any that takes calls, or the first that starts. */
  get life(): Service.Life | undefined {
    const { all } = this
    const [first, ...more] = all.filter(({ service }) => service !== undefined)
    if (first === undefined) return all[0]
    return more.length === 0 ? first : this.options.chance.of([first, ...more])
  }

  /** A runner by its place, or the owner of a conversation. */
  private at(runner: Plan.Place): Service.Life | undefined {
    if (typeof runner === "number") return this.places[runner]
    const owner = this.options.shared?.locks.ownerOf(runner.ownerOf)
    return this.places.find((life) => life === owner)
  }

  /** A runner calls a provider for a conversation only while it is sure of the lock (Lease.L1). */
  lease(by: Process, conversation: string): void {
    const { laws, shared } = this.options
    const ms = shared?.locks.confirmedMs(by, conversation) ?? 0
    laws.check("X6 a runner that calls is sure of its lock", ms <= Lease.SURE_MS, () => `${by.name}, after ${ms} ms`)
  }

  /** The session of the database that a conversation is, or was, locked by. */
  readonly sessionFor = (conversation: string): object | undefined =>
    this.options.shared?.locks.sessionFor(conversation)

  /** The configuration of the newest process. */
  get settings(): Service.Settings {
    const { settings } = this.options
    return settings[Math.min(this.lives - 1, settings.length - 1)] ?? settings[0]
  }

  /** Whether calls may wait for others. */
  get hasLimits(): boolean {
    return Object.values(this.settings.providers).some(({ limits }) => limits !== undefined)
  }

  /** Calls `act` once a process takes calls: now, if one does. */
  readonly whenReady = (act: () => void): void =>
    this.all.some(({ service }) => service !== undefined) ? act() : void this.waiting.push(act)

  /** Calls `act` when a process is gone. */
  readonly whenGone = (life: Service.Life, act: () => void): void => void this.leaving.push({ life, act })

  /** The disk is in trouble until so many milliseconds from now. */
  diskTroubled(ms: number): void {
    this.troubled(ms)
    this.diskTroubleAt = this.troubleAt
  }

  private troubled(ms = 0): void {
    this.troubleAt = Math.max(this.troubleAt, this.options.world.now + ms)
  }

  /** Starts a process in each place. */
  begin(): void {
    for (const place of this.places.keys()) this.start(place)
  }

  private start(place: number): void {
    const { around, laws, shared, timeline, world } = this.options
    this.lives++
    const name = `process ${this.lives}`
    this.moved()
    timeline.add(name, "starts")
    const logged = (line: string): void => {
      this.logLines.push(line)
      if (line.includes("Took over")) this.tookOver.push(world.now)
      // Their calls are made again, also where a runner has given them up and has them back.
      if (/Took over [1-9]/.test(line)) this.options.gone()
      timeline.add("log", this.isShared ? `${name}: ${line.trimEnd()}` : line.trimEnd())
    }
    const cluster = shared === undefined ? undefined : { shared, port: FIRST_PORT + place }
    const life = Service.start(
      { world, ...around, logged, cluster },
      name,
      this.settings,
      () => {
        timeline.add(name, "takes calls")
        this.readyAt = world.now
        if (this.isShared) this.moved()
        this.ready()
        for (const act of this.waiting.splice(0)) world.after(0, act)
      },
      (why) => {
        if (!life.isAlive) return
        timeline.add(name, `did not start: ${String(why)}`)
        laws.check("X1 a process starts", this.troubleAt >= world.now, () => String(why))
        Service.kill(life)
        this.gone(life, RESTART_MS)
      }
    )
    this.places[place] = life
  }

  private ready(): void {
    const { begun, world } = this.options
    if (this.isBegun || this.places.some((life) => life?.service === undefined)) return
    this.isBegun = true
    world.after(this.isShared ? SETTLED_MS : 0, begun)
  }

  /** Turns may change their runner. */
  private moved(ms = 0): void {
    this.troubled(this.isShared ? ms + TAKEN_OVER_MS : 0)
  }

  /** Ends a process as a plan has it. */
  end({ downMs, isOrderly, runner }: Plan.Death): void {
    const life = this.at(runner)
    const { met, timeline, world } = this.options
    if (life?.isAlive !== true || this.isHealed) return
    if (!isOrderly || life.service === undefined) return this.kill(life, downMs)
    met("an orderly stop")
    timeline.add(life.name, "stops in order")
    this.moved()
    Service.stop(world, life, () => {
      timeline.add(life.name, "has stopped")
      this.gone(life, downMs)
    })
    world.after(STOP_MS, () => {
      if (life.isAlive) this.kill(life, downMs)
    })
  }

  /** Kills a process that does not come back; the last one does. */
  readonly killForGood = (life: Service.Life): void => this.kill(life, this.all.length > 1 ? FOR_GOOD_MS : 0)

  kill(life: Service.Life | undefined, downMs = 0): void {
    if (life?.isAlive !== true) return
    this.options.met("a death")
    this.options.timeline.add(life.name, "dies")
    Service.kill(life)
    this.gone(life, downMs)
  }

  /** Something befalls a runner. */
  trouble(trouble: Plan.Trouble): void {
    const { disk, gone, met, shared, timeline, world } = this.options
    const life = this.at(trouble.runner)
    const other = this.places[(this.places.indexOf(life) + 1) % this.places.length]
    if (life?.isAlive !== true || shared === undefined || this.isHealed) return
    // A transaction of a runner that stands still is another fault: here the others write meanwhile.
    if (disk.isTransaction && disk.writer === life) return void world.after(1, () => this.trouble(trouble))
    const { diesAfter, ms, type } = trouble
    met(`a runner ${type}`)
    timeline.add(life.name, `${type}, ${ms} ms`)
    switch (type) {
      case "freezes":
        world.freeze(life, ms)
        this.moved(ms)
        gone()
        if (diesAfter !== undefined) world.after(ms + diesAfter, () => this.killForGood(life))
        return void world.after(ms, gone)
      case "loses its locks":
        shared.locks.cut(life)
        this.moved()
        return gone()
      case "is cut off":
        if (other !== undefined) shared.links.part(life, other, ms)
        gone()
        return this.moved(ms)
      default:
        return type satisfies never
    }
  }

  private gone(life: Service.Life, downMs: number): void {
    const { disk, gone, shared, world } = this.options
    disk.recover()
    shared?.links.gone(life)
    this.moved()
    gone()
    const left = this.leaving.filter((one) => one.life === life)
    this.leaving = this.leaving.filter((one) => one.life !== life)
    for (const { act } of left) act()
    const place = this.places.indexOf(life)
    if (place >= 0) world.after(downMs, () => this.start(place))
  }
}
