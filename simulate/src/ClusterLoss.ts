/**
 * A cluster with waiting turns loses runners at one moment: when their shards and turns are taken over, and which wakes are late.
 *
 * Every runner is the whole service; simulated are the clock, the connections, the locks and the providers, and the database is one SQLite.
 */
import { Effect } from "effect"
import { Ids } from "@holdfast/wire"
import * as Chance from "./Chance.ts"
import * as Disk from "./Disk.ts"
import { Fleet } from "./Fleet.ts"
import { Laws } from "./Laws.ts"
import { Links } from "./Links.ts"
import { Locks } from "./Locks.ts"
import { Network, promptsIn } from "./Network.ts"
import { ask, type Surroundings } from "./People.ts"
import * as Service from "./Service.ts"
import { Timeline } from "./Timeline.ts"
import { Workshop } from "./Workshop.ts"
import { World } from "./World.ts"

/** How large it is. */
export interface Size {
  readonly runners: number
  readonly turns: number
  readonly lost: number
  readonly shards: number
}

/** What was measured, in virtual milliseconds after the loss, and per virtual second. */
export interface Report extends Size {
  /** When the locks of the last shard were with a survivor. */
  readonly lockedMs: number | undefined
  /** When survivors had read the turns of the first and of the last shard. */
  readonly takenMs: ReadonlyArray<number>
  /** Between runners, and to the locks, before the loss and in the 30 s after it. */
  readonly messages: readonly [before: number, after: number]
  readonly queries: readonly [before: number, after: number]
  /** Of each wake: how late it was, of turns whose runner was lost and of the others. */
  readonly late: { readonly lost: ReadonlyArray<number>; readonly others: ReadonlyArray<number> }
  /** Calls that a turn made beyond the two that it needs. */
  readonly repeated: number
  readonly unsealed: number
}

/** Turns are prompted within this time, and each waits for `WAIT_MS`: from 2 s after the loss on they are due. */
const PROMPTS_MS = 25_000
const LOSS_MS = 28_000
const WAIT_MS = 30_000

/** Turns of a runner that are prompted together, and whose calls take equally long: they share commits, as under load. */
const AT_ONCE = 50
const CALL_MS = 200

/** Lost runners are neighbours, and neighbours prompt at distant moments. */
const GOLDEN = 0.618

/** The cluster is at rest before the first prompt. */
const REST_MS = 6_000

const SETTINGS: Service.Settings = {
  database: { path: ":memory:" },
  providers: { one: { type: "openai-compatible", baseUrl: "http://one.test/v1", apiKeyEnv: ["ONE_KEY"] } },
  model: "one/m",
  gate: { enabled: false },
  retry: { profile: "overnight", schedule: { type: "steps", delays: [`${WAIT_MS / 1000} seconds`] } }
}

/** Runs it, from a seed. */
export const run = async (size: Size, seed: number): Promise<Report> => {
  const loss = new Loss(size, seed)
  await Service.load(SETTINGS, loss.workshop.tools)
  const uninstall = Disk.install(loss.disk)
  try {
    return await loss.run()
  } finally {
    uninstall()
  }
}

/** The report as a table. */
export const text = ({
  late,
  lockedMs,
  lost,
  messages,
  queries,
  repeated,
  runners,
  shards,
  takenMs,
  turns,
  unsealed
}: Report): string => {
  const share = (of: ReadonlyArray<number>, from: number, to: number) => of.filter((ms) => ms >= from && ms < to).length
  const row = (name: string, of: ReadonlyArray<number>) =>
    `| ${name} | ${of.length} | ${share(of, 0, 1)} | ${share(of, 1, 1_000)} | ${share(of, 1_000, 10_000)} | ${share(of, 10_000, 20_000)} | ${share(of, 20_000, Infinity)} | ${s(of.reduce((most, ms) => Math.max(most, ms), 0))} |`
  return [
    `${runners} runners with ${shards} shards and ${turns} waiting turns lose ${lost} runners at one moment.`,
    `Locks: all shards are with survivors ${s(lockedMs)} after the loss. Turns: the first were taken over after ${s(takenMs[0])}, the last after ${s(takenMs.at(-1))}.`,
    `Messages between runners: ${messages[0]} a second before, ${messages[1]} in the 30 s after. Queries for locks and members: ${queries[0]} a second before, ${queries[1]} after.`,
    "| wakes of turns of | in all | on time | up to 1 s late | up to 10 s | up to 20 s | later | latest |",
    "|---|---|---|---|---|---|---|---|",
    row("lost runners", late.lost),
    row("survivors", late.others),
    `${repeated} calls were made twice, and ${unsealed} turns have no end.`
  ].join("\n")
}

// --- internal

const s = (ms: number | undefined): string => (ms === undefined ? "-" : `${(ms / 1000).toFixed(1)} s`)

class Loss {
  readonly disk: Disk.Disk
  readonly workshop: Workshop
  private readonly size: Size
  private readonly world: World
  private readonly laws: Laws
  private readonly links: Links
  private readonly locks: Locks
  private readonly fleet: Fleet
  private readonly around: Surroundings
  private lostAt = 0
  private isOver = false
  private lockedMs: number | undefined
  /** The process of each turn's first call. */
  private readonly homes = new Map<string, string>()
  private readonly lost = new Set<string>()
  private readonly late = { lost: new Array<number>(), others: new Array<number>() }
  private calls = 0
  private readonly counts: Array<{ readonly messages: number; readonly queries: number }> = []

  constructor(size: Size, seed: number) {
    this.size = size
    this.world = new World(Chance.make(seed, "chance"), "in-order")
    const { world } = this
    this.disk = new Disk.Disk(
      new Disk.Database(),
      world,
      () => undefined,
      () => {}
    )
    this.laws = new Laws(this.disk)
    const timeline = new Timeline(world)
    this.workshop = new Workshop(world, Chance.make(seed, "tools"), this.laws, timeline)
    this.locks = new Locks(world, Chance.make(seed, "locks"), size.shards)
    this.links = new Links(world, Chance.make(seed, "links"))
    const network = new Network({
      world,
      chance: { ...Chance.make(seed, "network"), between: () => CALL_MS },
      replyTo: () => (this.lostAt === 0 ? { type: "status", status: 503 } : { type: "answer", words: 1, paceMs: 0 }),
      called: (call) => this.called(promptsIn(call).at(-1) ?? "", call.by.name, call.at),
      sent: () => {},
      broke: () => {}
    })
    this.fleet = new Fleet({
      world,
      laws: this.laws,
      timeline,
      disk: this.disk,
      around: { network, tools: this.workshop.tools },
      settings: [SETTINGS],
      shared: { locks: this.locks, links: this.links, shards: size.shards, wayMs: undefined, writes: () => () => {} },
      runners: size.runners,
      distanceMs: 0,
      chance: Chance.make(seed, "clients"),
      begun: () => this.begin(),
      gone: () => {},
      met: () => {}
    })
    const { fleet, laws } = this
    this.around = {
      world,
      laws,
      timeline,
      calls: [],
      isShared: true,
      isDiscarding: false,
      life: () => undefined,
      whenReady: fleet.whenReady,
      // A prompt that is lost with its runner is not sent again.
      whenGone: () => {}
    }
  }

  async run(): Promise<Report> {
    const { fleet, late, size, world } = this
    world.after(0, () => fleet.begin())
    await world.run(() => this.isOver || this.laws.broken !== undefined)
    if (this.laws.broken !== undefined) throw new Error(`${this.laws.broken.law}: ${this.laws.broken.what}`)
    const [begun, before, after] = this.counts
    const perSecond = (from: typeof begun, to: typeof begun, of: "messages" | "queries", seconds: number) =>
      Math.round(((to?.[of] ?? 0) - (from?.[of] ?? 0)) / seconds)
    return {
      ...size,
      lockedMs: this.lockedMs,
      takenMs: this.taken,
      messages: [perSecond(begun, before, "messages", 10), perSecond(before, after, "messages", 30)],
      queries: [perSecond(begun, before, "queries", 10), perSecond(before, after, "queries", 30)],
      late,
      repeated: this.calls - 2 * size.turns,
      unsealed: this.unsealed
    }
  }

  private begin(): void {
    const { world } = this
    this.disk.database.once("ALTER TABLE journal ADD COLUMN writer TEXT")
    world.after(REST_MS, () => this.prompts())
    // As on PostgreSQL.
    this.disk.database.once(
      "CREATE INDEX conversations_call ON conversations (conversation_id) WHERE conversation_id LIKE 'holdfast-call-%'"
    )
    const lossMs = REST_MS + LOSS_MS
    world.after(lossMs - 10_000, () => this.count())
    world.after(lossMs, () => this.lose())
    world.after(lossMs + 30_000, () => this.count())
    world.after(lossMs + WAIT_MS, () => this.look())
  }

  /** Clients open conversations at the runners that have their shards, and prompt there: some turns of a runner at one moment. */
  private prompts(): void {
    const { fleet, locks, size, world } = this
    const owned = Map.groupBy(
      Array.from({ length: size.turns }, (_, n) => n),
      (n) => locks.ownerOf(`c${n}`)
    )
    for (const [place, life] of fleet.all.entries()) {
      const turns = owned.get(life) ?? []
      const moments = Math.ceil(turns.length / AT_ONCE)
      for (let moment = 0; moment < moments; moment++) {
        const some = turns.slice(moment * AT_ONCE, (moment + 1) * AT_ONCE)
        const at = Math.floor((PROMPTS_MS * (moment + ((place * GOLDEN) % 1))) / moments)
        world.after(at, () => this.prompt(life, some))
      }
    }
  }

  private prompt(life: Service.Life, turns: ReadonlyArray<number>): void {
    const prompt = (conversations: Service.Service["conversations"], n: number) => {
      const conversationId = Ids.ConversationId.make(`c${n}`)
      return Effect.andThen(
        conversations.create({ conversationId }),
        conversations.prompt(conversationId, { prompt: `turn:t${n};`, turnId: Ids.TurnId.make(`t${n}`) })
      )
    }
    ask(
      { ...this.around, life: () => life },
      ({ conversations }) =>
        Effect.forEach(turns, (n) => prompt(conversations, n), { concurrency: "unbounded", discard: true }),
      () => {}
    )
  }

  private called(turn: string, by: string, at: number): void {
    this.calls++
    if (!this.homes.has(turn)) return void this.homes.set(turn, by)
    const wait = this.laws.waitBefore(turn)
    if (wait === undefined || this.lostAt === 0) return
    this.late[this.lost.has(this.homes.get(turn) ?? "") ? "lost" : "others"].push(at - wait.end)
  }

  private lose(): void {
    const { fleet, size, world } = this
    this.count()
    this.lostAt = world.now
    for (const life of fleet.all.slice(0, size.lost)) {
      this.lost.add(life.name)
      fleet.kill(life, DOWN_MS)
    }
    this.locked()
  }

  private locked(): void {
    const held = Array.from(this.locks.shares().values()).reduce((sum, share) => sum + share, 0)
    if (held < this.size.shards) return void this.world.after(100, () => this.locked())
    this.lockedMs = this.world.now - this.lostAt
  }

  private count(): void {
    const queries = Array.from(this.locks.queries.values()).reduce((sum, count) => sum + count, 0)
    this.counts.push({ messages: this.links.messages, queries })
  }

  private look(): void {
    if (this.unsealed === 0 || this.world.now - this.lostAt > MOST_MS) this.isOver = true
    else this.world.after(1_000, () => this.look())
  }

  private get unsealed(): number {
    const [row] = this.disk.rows<{ readonly n: number }>("SELECT count(*) AS n FROM turns WHERE end_event_id IS NULL")
    return row?.n ?? 0
  }

  /** When survivors wrote that they took turns over. */
  private get taken(): ReadonlyArray<number> {
    return this.fleet.tookOver.filter((at) => at >= this.lostAt).map((at) => at - this.lostAt)
  }
}

/** The lost runners do not come back. */
const DOWN_MS = 86_400_000

/** By then every turn has ended, or none does any more. */
const MOST_MS = 600_000
