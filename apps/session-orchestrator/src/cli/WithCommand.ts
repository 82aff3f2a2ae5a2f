/**
 * `holdfast with claude …`: runs a program whose calls pass through Holdfast, and writes nothing of its own configuration.
 *
 * Without a service at the configured address this process runs it. Where that process ends, the next process of `with` takes the service
 * over at the same address: the waits are on disk, and calls that are asked again go on in theirs. While calls wait, the title of the
 * terminal has until when.
 */
import { ClientError } from "@holdfast/client"
import { Count, HeldCall, type TurnState } from "@holdfast/wire"
import { Clock, Effect, Fiber, Option, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { RetrySettings } from "@holdfast/policy"
import { spawn } from "node:child_process"
import { constants } from "node:os"
import { basename } from "node:path"
import type { Values } from "../config/Config.ts"
import * as Environment from "../config/reading/Environment.ts"
import * as Endpoints from "../gateway/Endpoints.ts"
import * as LocalTime from "../text/LocalTime.ts"
import * as NearService from "./client/NearService.ts"
import * as Service from "./client/Service.ts"
import * as Clients from "./connect/Clients.ts"
import * as Pointing from "./Pointing.ts"
import { Ended, Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import { paint, Terminal } from "./terminal/Terminal.ts"

/** The command `with`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "with",
    {
      program: Argument.String("program").pipe(Argument.withDescription("The program to run")),
      args: Argument.String("arguments").pipe(
        Argument.withDescription("Its arguments, as they are"),
        Argument.variadic()
      ),
      provider: Flag.String("provider").pipe(
        Flag.withMetavar("NAME"),
        Flag.withDescription("Another provider of the configuration than the program's own"),
        Flag.optional
      ),
      profile: Flag.Literals("profile", RetrySettings.ProfileName.literals).pipe(
        Flag.withDescription("Retry profile of its calls"),
        Flag.optional
      ),
      ...Service.flags
    },
    (flags) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(flags.config) }, (config) =>
        Effect.scoped(run(parts, flags, config))
      )
  ).pipe(
    Command.withDescription(
      "Run an agent whose calls wait out outages. Attaches to the running service, or runs one as long as the agent runs. The exit code is the agent's"
    ),
    Command.withShortDescription("Run an agent whose calls wait out outages"),
    Command.withExamples([
      { command: "holdfast with claude", description: "Claude Code, as you know it" },
      { command: 'holdfast with claude -p "Mend the tests"', description: "Its own arguments follow its name" },
      { command: "holdfast with --profile interactive codex", description: "Options of Holdfast come first" },
      { command: "holdfast with python agent.py", description: "Any program that reads the base URLs of the SDKs" }
    ])
  )

/** The command line for `effect/cli`: what follows the program is the program's own, options included. */
export const separated = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (args[0] !== "with") return args
  let at = 1
  for (let arg = args[at]; arg?.startsWith("-") === true && arg !== "--"; arg = args[at]) {
    at += arg.includes("=") || BARE.has(arg) ? 1 : 2
  }
  return args[at] === "--" ? args : [...args.slice(0, at + 1), "--", ...args.slice(at + 1)]
}

/** The title of a terminal while turns wait: how many, for what, and until when. `undefined`: none waits. */
export const titleOf = (
  turns: ReadonlyArray<Pick<TurnState.TurnSummary, "error" | "wait">>,
  now: number
): string | undefined => {
  const waits = turns.flatMap(({ error, wait }) => (wait === undefined ? [] : [{ error, ...wait }]))
  const [first] = waits.toSorted((a, b) => a.retryAt - b.retryAt)
  if (first === undefined) return undefined
  const time = LocalTime.toSeconds(now)(first.retryAt)
  const next = first.asks !== undefined ? "asks you" : first.retryAt > now ? `next at ${time}` : "calling"
  return `Holdfast: ${Count.of(waits.length, "call")} held, ${first.error?.reason ?? "waiting"}, ${next}`
}

// --- internal

interface Flags {
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly provider: Option.Option<string>
  readonly profile: Option.Option<string>
  readonly url: Option.Option<string>
  readonly config: Option.Option<string>
}

/** Options of this command that have no value. */
const BARE: ReadonlySet<string> = new Set(["--help", "-h"])

/** Between two looks at what waits. */
const LOOK_EVERY = "2 seconds"

/** Of turns that wait: beyond them the title has this number. */
const MOST_COUNTED = 100

const run = Effect.fnUntraced(function* <E extends StartFailure>(parts: Parts<E>, flags: Flags, config: Values) {
  const terminal = yield* Terminal
  const logged = NearService.logged(parts, terminal, "with.log")
  const find = (config: Values) => NearService.find(parts, flags.url, config, logged, true)
  let service = yield* find(config)
  const { url } = service.address
  const start = yield* startOf(parts, flags, config, url)
  // The program keeps its base URL: the next service has the same port.
  const again = find({ ...config, server: { ...config.server, port: Number(new URL(url).port) } })
  const isNamed = NearService.isNamed(flags.url, parts.environment)
  const look = Effect.gen(function* () {
    const client = yield* Service.connect(service.address, { retryForMs: 0 })
    const turns = yield* Stream.runCollect(Stream.take(client.listTurns({ status: "waiting" }), MOST_COUNTED))
    const now = yield* Clock.currentTimeMillis
    const calls = Array.from(turns).filter(({ conversationId }) => HeldCall.isHeld(conversationId))
    if (terminal.isStderrTerminal) entitle(titleOf(calls, now))
  }).pipe(
    Effect.scoped,
    Effect.catch((error) =>
      isNamed || service.isOwn || !(error instanceof ClientError) || !Service.isAway(error)
        ? Effect.void
        : Effect.map(again, (next) => void (service = next))
    ),
    Effect.ignore // the next look may find it
  )
  const looking = yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(LOOK_EVERY), look)))
  const code = yield* ended(flags, { ...parts.environment, ...start.environment }, start.args)
  yield* Fiber.interrupt(looking)
  if (terminal.isStderrTerminal) entitle(undefined)
  if (service.isOwn) yield* Effect.ignore(staying(service.address))
  if (code !== ExitCode.COMPLETED) return yield* new Ended({ exitCode: code })
})

/** What the program is started with. A program that `holdfast connect` does not know gets the base URLs of all SDKs. */
const startOf = Effect.fnUntraced(function* <E extends StartFailure>(
  { environment }: Parts<E>,
  { profile, program, provider }: Flags,
  config: Values,
  service: string
) {
  const name = basename(program)
  const known = Clients.table.find((client) => client.name === name && client.isLibrary !== true)
  const wanted = {
    config,
    home: Environment.get(environment, "HOME"),
    profile: Option.getOrUndefined(profile),
    service
  }
  if (known !== undefined) {
    const pointing = yield* Pointing.of(known, { ...wanted, provider: Option.getOrUndefined(provider) })
    const start = Pointing.startOf(known, pointing)
    if (start !== undefined) return start
    return yield* new Refused({
      message: `${name} has its base URL in its own configuration alone: \`holdfast connect ${name} --write\` sets it there.`,
      exitCode: ExitCode.USAGE
    })
  }
  const named = Option.getOrUndefined(provider)
  const format = named === undefined ? undefined : Endpoints.of(config).get(named)?.config.type
  if (named !== undefined && format === undefined) {
    return yield* new Refused({
      message: `The configuration has no provider ${JSON.stringify(named)}.`,
      exitCode: ExitCode.USAGE
    })
  }
  // A library calls the named provider if it has its format.
  const providerFor = ({ formats }: Clients.Client) =>
    format !== undefined && formats?.includes(format) === true ? named : undefined
  const starts = yield* Effect.forEach(
    Clients.table.filter(({ isLibrary }) => isLibrary === true),
    (library) =>
      Effect.map(Pointing.of(library, { ...wanted, provider: providerFor(library) }), (to) =>
        Pointing.startOf(library, to)
      )
  )
  return {
    args: [],
    environment: Object.fromEntries(starts.flatMap((start) => Object.entries(start?.environment ?? {})))
  }
})

const FORWARDED = ["SIGTERM", "SIGHUP"] as const

/** Runs the program in the terminal; returns its exit code. Ctrl-C is the program's own. */
const ended = ({ args, program }: Flags, env: Environment.Environment, first: ReadonlyArray<string>) =>
  Effect.callback<number, Refused>((resume) => {
    const child = spawn(program, [...first, ...args], { stdio: "inherit", env })
    const forward = (signal: NodeJS.Signals): void => void child.kill(signal)
    const ignore = (): void => {}
    for (const signal of FORWARDED) process.on(signal, forward)
    process.on("SIGINT", ignore)
    const leave = (): void => {
      for (const signal of FORWARDED) process.off(signal, forward)
      process.off("SIGINT", ignore)
    }
    child.once("error", (error) => {
      leave()
      const isMissing = "code" in error && error.code === "ENOENT"
      const message = isMissing ? `There is no program ${JSON.stringify(program)} in PATH.` : error.message
      resume(Effect.fail(new Refused({ message, exitCode: ExitCode.NOT_FOUND })))
    })
    child.once("exit", (code, signal) => {
      leave()
      resume(Effect.succeed(code ?? 128 + constants.signals[signal ?? "SIGTERM"]))
    })
    return Effect.sync(() => {
      leave()
      child.kill()
    })
  })

/** Keeps the service of this process until its turns have ended, or a signal. A held call needs no service to wait: it goes on when it is asked again. */
const staying = Effect.fnUntraced(
  function* (address: Service.Address) {
    const terminal = yield* Terminal
    const signals = yield* Signals.Signals
    const client = yield* Service.connect(address)
    const open = Effect.map(
      Effect.forEach(["waiting", "running", "queued"] as const, (status) =>
        Stream.runCollect(Stream.take(client.listTurns({ status }), MOST_COUNTED))
      ),
      (lists) =>
        lists.flatMap((turns) => Array.from(turns)).filter(({ conversationId }) => !HeldCall.isHeld(conversationId))
    )
    const first = yield* open
    if (first.length === 0) return
    const words = `${Count.of(first.length, "turn")} of the service in this terminal ${first.length === 1 ? "has" : "have"} not ended: it stays until then. Ctrl-C stops it; they go on with the next start.`
    terminal.stderr(`${paint(terminal.colors.stderr, "dim", words)}\n`)
    const over = Effect.gen(function* () {
      while ((yield* open).length > 0) yield* Effect.sleep(LOOK_EVERY)
    })
    yield* Effect.raceFirst(over, signals.first)
  },
  Effect.scoped,
  Effect.provide(Signals.layer)
)

let isEntitled = false

/** Sets the title of the terminal, and puts the former one back (xterm's stack of titles). */
const entitle = (title: string | undefined): void => {
  if (title === undefined && !isEntitled) return
  const [push, pop] = ["\u001b[22;0t", "\u001b[23;0t"]
  process.stderr.write(title === undefined ? pop : `${isEntitled ? "" : push}\u001b]0;${title}\u0007`)
  isEntitled = title !== undefined
}
