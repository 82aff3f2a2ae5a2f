/** Runs one night: a plan, the service in one process after another, and the laws. */
import { Ids } from "@holdfast/wire"
import { Caller, callerOf } from "./Callers.ts"
import { CallLaws } from "./CallLaws.ts"
import * as Chance from "./Chance.ts"
import * as Disk from "./Disk.ts"
import { Ending } from "./Ending.ts"
import { Fleet } from "./Fleet.ts"
import { type Broken, Laws } from "./Laws.ts"
import { Links } from "./Links.ts"
import { Locks } from "./Locks.ts"
import { type Call, Network, promptsIn, type Reply, toolCallOf } from "./Network.ts"
import { ask, Commander, Prompter, type Surroundings } from "./People.ts"
import * as Plan from "./Plan.ts"
import type { Shared } from "./Runner.ts"
import * as Service from "./Service.ts"
import { Timeline } from "./Timeline.ts"
import { Watcher } from "./Watcher.ts"
import { Workshop } from "./Workshop.ts"
import { World } from "./World.ts"

/** What became of a night. */
export interface Result {
  readonly plan: Plan.Plan
  readonly broken: Broken | undefined
  readonly lines: ReadonlyArray<string>
  /** Of everything that happened, of all log lines, and of the whole database at the end. */
  readonly digest: string
  readonly virtualMs: number
  readonly tasks: number
  readonly calls: number
  /** Faults that were met, by kind. */
  readonly faults: ReadonlyMap<string, number>
  readonly checks: ReadonlyMap<string, number>
}

/** Runs a plan. */
export const run = async (plan: Plan.Plan): Promise<Result> => {
  const night = new Night(plan)
  await (loading ??= Service.load(plan.settings[0], night.workshop.tools))
  const uninstall = Disk.install(night.disk)
  try {
    return await night.run()
  } finally {
    uninstall()
  }
}

// --- internal

let loading: Promise<void> | undefined

/** Of nights with one process, and of those with several runners, whose journal has a column more. */
const databases = { alone: new Disk.Database(), shared: new Disk.Database() }

/** After the beginning of a call that was refused, the wait after it is on disk by then. */
const WAIT_SEEN_MS = 900

/** More tasks than any night takes: beyond them it turns in a circle. */
const MOST_TASKS = 100_000

/** After the last fault every turn ends within this time, in milliseconds: budgets of eight hours, one after the other. */
const PATIENCE_MS = 72 * 3_600_000

class Night {
  readonly world: World
  readonly disk: Disk.Disk
  readonly plan: Plan.Plan
  readonly network: Network
  readonly laws: Laws
  private readonly callLaws: CallLaws
  readonly timeline: Timeline
  readonly fleet: Fleet
  readonly workshop: Workshop
  readonly around: Surroundings
  private readonly faults = new Map<string, number>()
  readonly prompters: Array<Prompter> = []
  readonly commanders: Array<Commander> = []
  readonly watchers: Array<Watcher> = []
  readonly callers: Array<Caller> = []
  private readonly ending: Ending
  /** What happens so many tasks from now. */
  private due: Array<{ readonly task: number; readonly act: () => void }> = []
  /** What happens at or after the beginning of a call. */
  private readonly ofCalls = new Map<number, ReadonlyArray<(call: Call) => void>>()
  private readonly ofBreaks = new Map<number, ReadonlyArray<(call: Call) => void>>()
  /** What becomes of the next commits. */
  private readonly armed: Array<Disk.Outcome> = []
  /** What happens at or after its last frame. */
  private readonly ofEnds = new Map<number, ReadonlyArray<(call: Call) => void>>()
  /** The conversations are there: from now on there are faults. */
  private isBegun = false
  private commitsBefore = 0

  constructor(plan: Plan.Plan) {
    const { seed } = plan
    this.plan = plan
    this.world = new World(Chance.make(seed, "chance"), plan.order)
    const database = plan.runners === 1 ? databases.alone : databases.shared
    database.empty()
    this.disk = new Disk.Disk(
      database,
      this.world,
      (commit) => this.outcomeOf(commit),
      (writer) => this.fleet.kill(this.fleet.all.find((life) => life === writer))
    )
    this.laws = new Laws(this.disk)
    this.timeline = new Timeline(this.world)
    this.workshop = new Workshop(this.world, Chance.make(seed, "tools"), this.laws, this.timeline)
    this.network = new Network({
      world: this.world,
      chance: Chance.make(seed, "network"),
      replyTo: (n) => this.replyTo(n),
      called: (call) => this.called(call),
      sent: (call) => this.sent(call),
      broke: (call) => this.ofBreaks.get(call.number)?.forEach((act) => act(call))
    })
    const { disk, laws, network, timeline, world } = this
    this.fleet = new Fleet({
      world,
      laws,
      timeline,
      disk,
      around: { network, tools: this.workshop.tools },
      settings: plan.settings,
      shared: plan.runners === 1 ? undefined : sharedBy(plan, world, laws),
      runners: plan.runners,
      distanceMs: plan.distanceMs ?? 0,
      chance: Chance.make(seed, "clients"),
      begun: () => {
        // Records of several processes name their writer, as on a server.
        if (plan.runners > 1) database.once("ALTER TABLE journal ADD COLUMN writer TEXT")
        this.open(0)
      },
      gone: () => this.callLaws.gone(),
      met: (fault) => this.met(fault)
    })
    const { fleet } = this
    this.callLaws = new CallLaws(laws, network, fleet, () => this.callers)
    this.around = {
      world,
      laws,
      timeline,
      calls: network.calls,
      isShared: fleet.isShared,
      isDiscarding: plan.settings.some(({ retry }) => retry["midStream"] === "discard"),
      life: () => fleet.life,
      whenReady: fleet.whenReady,
      whenGone: fleet.whenGone
    }
    this.ending = new Ending(this, this.conversations)
    world.beforeTask = () => this.beforeTask()
  }

  async run(): Promise<Result> {
    const { disk, ending, laws, world } = this
    world.after(0, () => this.fleet.begin())
    await world.run(() => {
      if (world.tasks > MOST_TASKS * this.plan.runners)
        laws.check("a night ends", false, () => `it goes on after ${world.tasks} tasks`)
      return ending.isOver || laws.broken !== undefined
    })
    if (laws.broken === undefined) {
      if (!ending.isOver) laws.check("a night ends", false, () => "nothing is left to do, and turns are not sealed")
      ending.check()
    }
    // The times of the migrations are those of the real clock.
    const dump = disk.dump.filter(({ table }) => table !== "holdfast_migrations").map(({ row }) => row)
    return {
      plan: this.plan,
      broken: laws.broken,
      lines: this.timeline.lines,
      digest: this.timeline.digest(...this.fleet.logLines, ...dump),
      virtualMs: world.elapsedMs,
      tasks: world.tasks,
      calls: this.network.calls.length,
      faults: this.faults,
      checks: laws.checks
    }
  }

  // --- the plan

  /** Opens the conversations; then the plan begins. */
  private open(from: number): void {
    const conversationId = this.conversations[from]
    if (conversationId !== undefined) {
      return ask(
        this.around,
        ({ conversations }) => conversations.create({ conversationId: Ids.ConversationId.make(conversationId) }),
        () => this.open(from + 1)
      )
    }
    const { callers, commands, deaths, disk, prompts, troubles, watchers } = this.plan
    const { around, ending, fleet, network, world } = this
    this.isBegun = true
    this.commitsBefore = this.disk.commits
    ending.begin()
    for (const plan of prompts) this.prompt(plan).begin()
    for (const plan of callers) {
      // A command of another program's turn may reach this one by their session.
      const isCommanded = commands.some(({ turn }) => !prompts.some(({ id }) => id === turn))
      this.callers.push(new Caller({ around, network, isCommanded }, plan))
    }
    for (const plan of commands) this.at(plan.when, (call) => this.command(plan, call))
    for (const [n, plan] of watchers.entries()) this.at(plan.when, (call) => this.watch(n, plan, call))
    for (const death of deaths) this.at(death.when, () => fleet.end(death))
    for (const trouble of troubles) this.at(trouble.when, () => fleet.trouble(trouble))
    for (const { commit, outcome } of disk)
      if (typeof commit !== "number") this.at(commit, () => void this.armed.push(outcome))
    world.after(Plan.lastOf(this.plan), () => ending.look(world.now + PATIENCE_MS))
  }

  private get conversations(): ReadonlyArray<string> {
    const { commands, prompts, watchers } = this.plan
    const all = [...prompts, ...commands, ...watchers].map(({ conversation }) => conversation)
    return Array.from(new Set(all.filter((id) => id !== ""))).toSorted()
  }

  /** Does something at its moment; `call` is that which the moment is of. */
  private at(when: Plan.Moment, act: (call: Call | undefined) => void): void {
    if ("at" in when)
      return void this.world.after(
        when.at,
        this.counted(when, () => act(undefined))
      )
    const moments = "isEnd" in when ? this.ofEnds : "isBreak" in when ? this.ofBreaks : this.ofCalls
    const planned = moments.get(when.call) ?? []
    moments.set(when.call, [...planned, (call) => this.soon(when, call, () => act(call))])
  }

  /** Does something so many tasks later, if a moment has them. */
  private counted({ tasks }: Plan.Moment, act: () => void): () => void {
    return tasks === undefined ? act : () => void this.due.push({ task: this.world.tasks + tasks, act })
  }

  private soon(when: Exclude<Plan.Moment, { readonly at: number }>, call: Call, act: () => void): void {
    const { laws, world } = this
    const then = this.counted(when, act)
    if (when.ms === undefined) return then()
    if (when.isWait !== true) return void world.after(when.ms, then)
    // The wait is on disk by then.
    world.after(WAIT_SEEN_MS, () => {
      const end = laws.waitOf(laws.turnOfCall(call))
      if (end !== undefined) world.after(Math.max(0, end + when.ms - world.now), then)
    })
  }

  private beforeTask(): void {
    const { due, world } = this
    if (!due.some(({ task }) => task <= world.tasks)) return
    this.due = due.filter(({ task }) => task > world.tasks)
    for (const { act, task } of due) if (task <= world.tasks) act()
  }

  private command(plan: Plan.Commanded, call: Call | undefined): void {
    const place = this.placeOf(plan, call)
    if (place === undefined) return
    const instead = plan.instead && this.prompt(plan.instead)
    this.commanders.push(new Commander(this.around, { ...plan, ...place }, () => instead?.begin()))
  }

  private prompt(plan: Plan.Prompted): Prompter {
    const { fleet, world } = this
    const prompter = new Prompter(this.around, plan, (by) => {
      if (plan.isFatal === true) world.after(0, () => fleet.killForGood(by))
    })
    this.prompters.push(prompter)
    return prompter
  }

  private watch(n: number, plan: Plan.Watched, call: Call | undefined): void {
    const place = this.placeOf(plan, call)
    if (place === undefined) return
    const watched = this.prompters.find(({ plan: { id } }) => id === place.turn)
    this.watchers.push(new Watcher(this.around, `watcher ${n}`, { ...plan, ...place }, watched))
  }

  /** The turn and conversation that a plan is for, after a call those of the call; `undefined`: there is none, or it is not known yet. */
  private placeOf(
    { conversation, isOwn, turn }: Pick<Plan.Commanded, "conversation" | "turn" | "isOwn">,
    call: Call | undefined
  ): Pick<Plan.Commanded, "conversation" | "turn"> | undefined {
    if (isOwn === true) {
      const own = this.prompters.find(({ plan: { id } }) => id === turn)
      const [known] = own?.turns ?? []
      return known === undefined || !(own?.isAcknowledged || own?.plan.isNamed)
        ? undefined
        : { turn: known, conversation }
    }
    const caller = call === undefined ? (conversation === "" ? turn : undefined) : callerOf(call)
    if (caller !== undefined) {
      for (const called of this.callers) if (called.plan.id === caller) called.isCommanded = true
      return this.laws.heldTurns(caller).findLast(({ end }) => end === null)
    }
    if (call === undefined) return { turn, conversation }
    return { turn: turn && this.laws.turnOfCall(call), conversation: this.homeOf(call) ?? conversation }
  }

  /** The conversation of a call. */
  private homeOf(call: Call): string | undefined {
    const name = promptsIn(call).at(-1)?.split("x")[0] // of several without an id
    return this.prompters.find(({ plan: { id } }) => id === name)?.plan.conversation
  }

  // --- disk and network

  private outcomeOf(commit: number): Disk.Outcome | undefined {
    if (!this.isBegun) return undefined
    const number = commit - this.commitsBefore
    const outcome = this.plan.disk.find((planned) => planned.commit === number)?.outcome ?? this.armed.shift()
    if (outcome === undefined) return undefined
    if (this.fleet.isHealed && outcome.type.startsWith("dies")) return undefined
    this.met(`a commit: ${outcome.type}`)
    this.timeline.add("disk", `commit ${number}: ${outcome.type}`)
    // What is stored late is trouble until then.
    this.fleet.diskTroubled(outcome.type === "slow" ? outcome.ms : 0)
    return outcome
  }

  private replyTo(n: number): Reply {
    const reply = this.plan.replies[n] ?? { type: "answer", words: 2, paceMs: 5 }
    if (reply.type !== "answer") this.met(`a call: ${reply.type === "status" ? reply.status : reply.type}`)
    return reply
  }

  private called(call: Call): void {
    const { number, reply } = call
    const turn = this.laws.turnOfCall(call)
    this.timeline.add(
      "provider",
      `call ${number} of ${callerOf(call) ?? turn} at ${call.host}: ${JSON.stringify(reply)}`
    )
    this.callLaws.called(call)
    for (const act of this.ofCalls.get(number) ?? []) act(call)
    if (
      callerOf(call) === undefined &&
      reply.type === "tool" &&
      reply.tool === "ask" &&
      reply.answeredAfter !== undefined
    ) {
      const what = { type: "answer-tool", toolCallId: toolCallOf(number), approve: reply.words % 2 === 0 } as const
      const conversation = this.homeOf(call) ?? ""
      const plan = { id: `a${number}`, conversation, turn, when: { at: 0 }, what, againAfter: undefined }
      this.world.after(reply.answeredAfter, () => this.commanders.push(new Commander(this.around, plan)))
    }
  }

  private sent(call: Call): void {
    const { isWhole, number, said } = call
    if (!isWhole) return this.timeline.add("provider", `call ${number} says ${said.at(-1)}`)
    for (const act of this.ofEnds.get(number) ?? []) act(call)
  }

  private met(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1)
  }
}

/** What the runners of a night share beside the disk. */
const sharedBy = ({ distanceMs, runners, seed }: Plan.Plan, world: World, laws: Laws): Shared => {
  const shards = 6 * runners
  const distance = Chance.make(seed, "distance")
  return {
    locks: new Locks(world, Chance.make(seed, "locks"), shards),
    links: new Links(world, Chance.make(seed, "links")),
    shards,
    wayMs: distanceMs === undefined ? undefined : () => distance.between(0, distanceMs),
    writes: (by, append) => laws.writes(by, append)
  }
}
