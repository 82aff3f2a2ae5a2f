/**
 * Runs a service through crashes: scripted provider, database file, restarted process, watching client.
 *
 * CrashHarness.C1. Random choices depend on the seed alone; two runs of one seed differ only in the machine's timing.
 * CrashHarness.C2. A turn counts as acknowledged when the head of its response has arrived. Others are sent again, under the same id.
 * CrashHarness.C3. A wait that a client received before a death is binding for the service (`promises`), and so is an accepted abort (`aborted`).
 */
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Fiber, type Scope } from "effect"
import * as path from "node:path"
import { Chance } from "./Chance.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as WatchingClient from "./WatchingClient.ts"
import * as Process from "./Process.ts"

/** The expected end of a wait: the nth request of the provider, at the announced time. */
export interface Promised {
  readonly retryAt: number
  readonly nth: number
}

export type Requirements = Scope.Scope

export const make = Effect.fnUntraced(function* (seed: number) {
  const directory = yield* Process.directory
  const provider = yield* ScriptedServer.start()
  const harness = new Harness(new Chance(seed), provider, directory)
  yield* Effect.forkScoped(harness.countRequests)
  return harness
})

type Life = Effect.Success<ReturnType<typeof Process.start>>

export class Harness {
  readonly chance: Chance
  readonly provider: Effect.Success<ReturnType<typeof ScriptedServer.start>>
  readonly directory: string
  readonly watcher = new WatchingClient.WatchingClient()
  readonly acknowledged = new Set<string>()
  readonly promises: Array<Promised> = []
  /** The turns whose abort was acknowledged. */
  readonly aborted = new Set<string>()
  /** The arrival time of each request at the provider. */
  readonly askedAt: Array<number> = []
  /** Tool servers of the configuration; set before the first process is started. */
  tools: object = {}
  deaths = 0
  conversationId = ""
  private delays: ReadonlyArray<string> = ["100 millis"]
  private life: Life | undefined = undefined
  private watching: Fiber.Fiber<void> | undefined = undefined

  constructor(chance: Chance, provider: Harness["provider"], directory: string) {
    this.chance = chance
    this.provider = provider
    this.directory = directory
  }

  /** The running process; fails if there is none. */
  get alive(): Life {
    if (this.life === undefined) throw new Error("the process is dead")
    return this.life
  }

  /** The file in which tools leave a line for each run. */
  get runs(): string {
    return path.join(this.directory, "runs")
  }

  /** Starts the first process, with delays before the retries, and creates the conversation. */
  begin(...delays: ReadonlyArray<string>): Effect.Effect<void, Error, Requirements> {
    return Effect.gen({ self: this }, function* () {
      this.delays = delays
      yield* this.start
      this.conversationId = yield* this.alive.create()
      yield* this.watch
    })
  }

  /** Posts a turn, and waits until it is acknowledged or its process is dead. */
  post(turnId: string): Effect.Effect<void, never, Requirements> {
    return this.alive
      .open({
        path: `/v1/conversations/${this.conversationId}/turns`,
        headers: { accept: "application/x-ndjson" },
        body: { prompt: `prompt ${turnId}`, turnId }
      })
      .pipe(
        Effect.map(({ status }) => void (status === 200 && this.acknowledged.add(turnId))),
        Effect.ignore
      )
  }

  /** Sends a request to the conversation. */
  command(name: string, body: object = {}): Effect.Effect<number, Error> {
    return Effect.map(
      this.alive.call({ method: "POST", path: `/v1/conversations/${this.conversationId}/${name}`, body }),
      ({ status }) => status
    )
  }

  /** Aborts a turn, and waits for the acknowledgement. */
  abort(turnId: string): Effect.Effect<void, Error> {
    return Effect.map(this.command("abort"), (status) => void (status === 202 && this.aborted.add(turnId)))
  }

  /** Waits some random milliseconds. */
  waitBriefly(least: number, most: number): Effect.Effect<void> {
    return Effect.sleep(this.chance.from(least, most))
  }

  /** Waits until the watcher has seen an event. */
  waitUntilSeen(what: string, isSeen: (watcher: WatchingClient.WatchingClient) => boolean): Effect.Effect<void, Error> {
    return Process.eventually(
      what,
      Effect.sync(() => this.watcher),
      isSeen
    ).pipe(Effect.asVoid)
  }

  /** Kills the process. */
  get kill(): Effect.Effect<void, Error> {
    return this.dies
  }

  /** Starts the next process over the same file. */
  get restart(): Effect.Effect<void, Error, Requirements> {
    return Effect.andThen(this.start, this.watch)
  }

  /** Starts the next process, and kills it during its start. */
  dieDuringStart(least: number, most: number): Effect.Effect<void, Error, Requirements> {
    return Effect.gen({ self: this }, function* () {
      const file = Process.writeConfig(this.directory, this.config)
      const { child, exit } = yield* Process.run({ args: ["serve", "--config", file], directory: this.directory })
      yield* this.waitBriefly(least, most)
      child.kill("SIGKILL")
      yield* exit
      this.deaths++
    })
  }

  /** Stops the process like an operator. */
  get stop(): Effect.Effect<Process.Exit, Error> {
    return this.alive.end("SIGTERM")
  }

  /** Notes the time of every request, without end. */
  get countRequests(): Effect.Effect<never> {
    const next: Effect.Effect<void> = Effect.suspend(() => this.provider.received(this.askedAt.length + 1))
    return Effect.forever(
      Effect.andThen(
        next,
        Effect.sync(() => void this.askedAt.push(Date.now()))
      )
    )
  }

  /** An announced wait that is not over becomes a promise, unless there is one already. */
  private get dies(): Effect.Effect<void, Error> {
    return Effect.gen({ self: this }, function* () {
      const retry = this.watcher.retries.at(-1)
      const isWaiting =
        retry !== undefined && retry.retryAt > Date.now() && this.promises.length + this.aborted.size === 0
      yield* this.alive.end("SIGKILL")
      this.deaths++
      this.life = undefined
      if (this.watching !== undefined) yield* Fiber.await(this.watching)
      if (isWaiting) this.promises.push({ retryAt: retry.retryAt, nth: this.provider.count() + 1 })
    })
  }

  private get start(): Effect.Effect<void, Error, Requirements> {
    return Effect.gen({ self: this }, function* () {
      this.life = yield* Process.start({ directory: this.directory, config: this.config })
    })
  }

  private get watch(): Effect.Effect<void, Error, Requirements> {
    return Effect.gen({ self: this }, function* () {
      this.watching = yield* Effect.forkScoped(watching(this.watcher, this.alive, this.conversationId))
    })
  }

  /** The database file. */
  get database(): string {
    return ProcessSetup.databaseIn(this.directory)
  }

  private get config() {
    return { server: { port: 0 }, ...ProcessSetup.configOf(this.provider, { delays: this.delays }), tools: this.tools }
  }
}

// --- internal

/** Watches while the connection holds. */
const watching = (
  watcher: WatchingClient.WatchingClient,
  { open }: Life,
  conversationId: string
): Effect.Effect<void> =>
  open({
    path: `/v1/conversations/${conversationId}/events`,
    headers: { "last-event-id": String(watcher.lastId) }
  }).pipe(
    Effect.flatMap((live) => WatchingClient.follow(watcher, live)),
    Effect.scoped,
    Effect.ignore
  )
