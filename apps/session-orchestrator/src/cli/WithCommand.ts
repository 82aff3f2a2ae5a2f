/**
 * `holdfast with claude …`: runs a program whose calls pass through Holdfast, and writes nothing of its own configuration.
 *
 * Without a service at the configured address this process runs it. Where that process ends, the next process of `with` takes the service
 * over at the same address: the waits are on disk, and a call that its program sends again goes on in its own. While calls wait, the title of the
 * terminal has until when; a program that draws no screen, such as `claude -p`, gets a line on standard error for each wait, too.
 */
import { ClientError } from "@holdfast/client"
import { Count, HeldCall, type TurnState } from "@holdfast/wire"
import { Clock, Effect, Fiber, Stream } from "effect"
import { Argument } from "effect/cli"
import { spawn } from "node:child_process"
import { constants } from "node:os"
import { basename } from "node:path"
import type { Values } from "../config/Config.ts"
import * as Environment from "../config/reading/Environment.ts"
import * as LocalTime from "../base/text/LocalTime.ts"
import * as NearService from "./client/NearService.ts"
import * as RunningService from "./client/RunningService.ts"
import * as Clients from "./connect/Clients.ts"
import * as Pointing from "./Pointing.ts"
import * as Declaration from "./Declaration.ts"
import { Ended, ExitCode, Refused } from "./Ended.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import { note, Terminal } from "./terminal/Terminal.ts"

const options = {
  program: Declaration.argument("program", "The program to run"),
  args: Argument.variadic(Declaration.argument("arguments", "Its arguments, as they are")),
  ...Pointing.flags
}

/** The command `with`. */
export const command = Declaration.command(
  {
    name: "with",
    does: "Run an agent whose calls wait out outages. Attaches to the running service, or runs one as long as the agent runs. The exit code is the agent's",
    short: "Run an agent whose calls wait out outages",
    options,
    examples: {
      "holdfast with claude": "Claude Code, as you know it",
      'holdfast with claude -p "Mend the tests"': "Its own arguments follow its name",
      "holdfast with --profile interactive codex": "Options of Holdfast come first",
      "holdfast with python agent.py": "Any program that reads the base URLs of the SDKs"
    }
  },
  (given, { config, url }, parts) =>
    Setup.withConfig(parts, { config }, (config) => Effect.scoped(run(parts, given, url, config))),
  RunningService.flags
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
  calls: ReadonlyArray<Pick<TurnState.TurnSummary, "conversationId" | "error" | "wait">>,
  now: number
): string | undefined => {
  const waits = calls
    .flatMap(({ wait, ...call }) => (wait === undefined ? [] : [{ ...call, ...wait }]))
    .toSorted((a, b) => a.retryAt - b.retryAt)
  const first = waits.find(({ retryAt }) => retryAt > now) ?? waits[0]
  if (first === undefined) return undefined
  const time = LocalTime.toSeconds(now)(first.retryAt)
  const due = HeldCall.dueWords(first.conversationId, first.retryAt - now)
  const next = due ?? (first.asks === undefined ? `next at ${time}` : "asks you")
  return `Holdfast: ${Count.of(waits.length, "call")} held, ${first.error?.reason ?? "waiting"}, ${next}`
}

let isEntitled = false

/** Sets the title of the terminal, and puts the former one back (xterm's stack of titles). */
export const entitle = (title: string | undefined, write = (text: string) => process.stderr.write(text)): void => {
  if (title === undefined && !isEntitled) return
  const [push, pop] = ["\u001b[22;0t", "\u001b[23;0t"]
  write(title === undefined ? pop : `${isEntitled ? "" : push}\u001b]0;${title}\u0007`)
  isEntitled = title !== undefined
}

/** Whether a program leaves the terminal to lines: its output is no terminal, or its arguments are those of a run that prints. */
export const isPrinting = (
  { args, program }: Pick<Given, "args" | "program">,
  streams: { readonly stdin: boolean; readonly stdout: boolean }
): boolean => {
  const { printing = [] } = Clients.table.find(({ name }) => name === basename(program)) ?? {}
  return !streams.stdin || !streams.stdout || printing.some((arg) => args.includes(arg))
}

// --- internal

type Given = Declaration.Given<typeof options>

/** Options of this command that have no value. */
const BARE: ReadonlySet<string> = new Set(["--help", "-h"])

/** Between two looks at what waits. */
const LOOK_EVERY = "2 seconds"

/** Of turns that wait: beyond them the title has this number. */
const MOST_COUNTED = 100

const run = Effect.fnUntraced(function* (
  parts: Declaration.CommandParts,
  given: Given,
  named: string | undefined,
  config: Values
) {
  const terminal = yield* Terminal
  const logged = NearService.logged(parts, terminal, "with.log")
  const find = (config: Values) => NearService.find(parts, named, config, logged, true)
  let service = yield* find(config)
  const { url } = service.address
  const start = yield* startOf(parts, given, config, url)
  // The program keeps its base URL: the next service has the same port.
  const again = find({ ...config, server: { ...config.server, port: Number(new URL(url).port) } })
  const isNamed = RunningService.isNamed(named, parts.environment)
  const prints = isPrinting(given, { stdin: process.stdin.isTTY === true, stdout: terminal.isStdoutTerminal })
  let printed: number | undefined
  /** Shows the waits; whether the service is there. */
  const shown = Effect.gen(function* () {
    const client = yield* RunningService.connect(service.address, { retryForMs: 0 })
    const turns = yield* Stream.runCollect(Stream.take(client.listTurns({ status: "waiting" }), MOST_COUNTED))
    const now = yield* Clock.currentTimeMillis
    const calls = Array.from(turns).filter(({ conversationId }) => HeldCall.isHeld(conversationId))
    const title = titleOf(calls, now)
    if (terminal.isStderrTerminal) entitle(title)
    const times = calls.flatMap(({ wait }) => (wait !== undefined && wait.retryAt > now ? wait.retryAt : []))
    const next = times.length === 0 ? printed : Math.min(...times)
    if (prints && title !== undefined && next !== printed) note(terminal, "dim", title)
    printed = next
    return true
  }).pipe(
    Effect.scoped,
    Effect.catch((error) => Effect.succeed(!(error instanceof ClientError) || !RunningService.isAway(error)))
  )
  const look = Effect.gen(function* () {
    const isShown = terminal.isStderrTerminal || prints
    const isThere = isShown ? yield* shown : isNamed || (yield* NearService.answers(service.address.url))
    if (!isThere && !isNamed && !service.isOwn) service = yield* again
  }).pipe(Effect.ignore) // the next look may find it
  const looking = yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(LOOK_EVERY), look)))
  const code = yield* ended(given, { ...parts.environment, ...start.environment }, start.args)
  yield* Fiber.interrupt(looking)
  if (terminal.isStderrTerminal) entitle(undefined)
  if (service.isOwn) yield* Effect.ignore(staying(service.address))
  yield* Ended.by(code)
})

/** What the program is started with. A program that `holdfast connect` does not know gets the base URLs of all SDKs. */
const startOf = Effect.fnUntraced(function* (
  { environment }: Declaration.CommandParts,
  { profile, program, provider }: Given,
  config: Values,
  service: string
) {
  const name = basename(program)
  const known = Clients.table.find((client) => client.name === name && client.isLibrary !== true)
  const wanted = { config, home: Environment.get(environment, "HOME"), profile, service }
  if (known !== undefined) {
    const pointing = yield* Pointing.of(known, { ...wanted, provider })
    const start = Pointing.startOf(known, pointing)
    if (start !== undefined) return start
    return yield* Refused.usage(
      `${name} has its base URL in its own configuration alone: \`holdfast connect ${name} --write\` sets it there.`
    )
  }
  const format = provider === undefined ? undefined : (yield* Pointing.endpointOf(config, provider)).type
  // A library calls the named provider if it has its format.
  const providerFor = ({ formats }: Clients.Program) =>
    format !== undefined && formats?.includes(format) === true ? provider : undefined
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
const ended = ({ args, program }: Given, env: Environment.Environment, first: ReadonlyArray<string>) =>
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

/**
 * Keeps the service of this process until its turns have ended, or a signal. A held call needs no service to wait: it goes on when it is asked
 * again. Only the calls of other programs that do not ask again end with their connections.
 */
const staying = Effect.fnUntraced(
  function* (address: RunningService.ServiceAddress) {
    const terminal = yield* Terminal
    const signals = yield* Signals.Signals
    const client = yield* RunningService.connect(address)
    const open = Effect.gen(function* () {
      const lists = yield* Effect.forEach(["waiting", "running", "queued"] as const, (status) =>
        Stream.runCollect(Stream.take(client.listTurns({ status }), MOST_COUNTED))
      )
      const turns = lists.flatMap((turns) => Array.from(turns))
      const own = turns.filter(({ conversationId }) => !HeldCall.isHeld(conversationId)).length
      return { own, bound: (yield* client.health).boundCalls }
    })
    const { bound, own } = yield* open
    if (own + bound === 0) return
    const words = [
      own === 0
        ? []
        : `${Count.of(own, "turn")} of the service in this terminal ${own === 1 ? "has" : "have"} not ended`,
      bound === 0
        ? []
        : `${Count.of(bound, "call")} of another program ${bound === 1 ? "waits" : "wait"} in this terminal`
    ].flat()
    const then = `it stays until then. Ctrl-C stops it; ${bound === 0 ? "they go" : "turns go"} on with the next start${bound === 0 ? "" : ", such a call ends"}.`
    note(terminal, "dim", `${words.join(", and ")}: ${then}`)
    const over = Effect.gen(function* () {
      for (let { bound, own } = yield* open; own + bound > 0; { bound, own } = yield* open)
        yield* Effect.sleep(LOOK_EVERY)
    })
    yield* Effect.raceFirst(over, signals.first)
  },
  Effect.scoped,
  Effect.provide(Signals.layer)
)
