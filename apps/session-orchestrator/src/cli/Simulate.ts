/**
 * `holdfast simulate`: serves a provider with a scripted outage, to test any agent.
 *
 * It needs no configuration, database or key. The first Ctrl-C or SIGTERM stops it with exit code 0; the second ends the process at once.
 */
import { Simulated } from "@holdfast/simulated"
import * as SimulatedServer from "@holdfast/simulated/server"
import { Effect, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import * as Signals from "./Signals.ts"
import { paint, Terminal } from "./terminal/Terminal.ts"

/** Beside the service's 4747 and the runners' 4748, so that both can run on one machine. */
const DEFAULT_PORT = 4750

/** Where the provider listens, and how it responds. */
export interface Options {
  readonly script: string
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
}

/** The command `simulate`. */
export const command = Command.make(
  "simulate",
  {
    script: Flag.String("script").pipe(
      Flag.withAlias("s"),
      Flag.withMetavar("SCRIPT"),
      Flag.withDescription(
        "What each turn meets, such as 429x2,502 or '529 for 7h' or cut-after-3 (docs/simulated.md has the language)"
      ),
      Flag.withDefault(Simulated.DEFAULT_MODEL)
    ),
    port: Flag.Int("port").pipe(
      Flag.withAlias("p"),
      Flag.withMetavar("N"),
      Flag.withDescription(`Port to listen on (default: ${DEFAULT_PORT}; 0 takes any that is free)`),
      Flag.filter(
        (port) => port >= 0 && port <= 65_535,
        () => "Expected a port from 0 to 65535"
      ),
      Flag.withDefault(DEFAULT_PORT)
    ),
    host: Flag.String("host").pipe(
      Flag.withMetavar("ADDRESS"),
      Flag.withDescription("Address to listen on (default: 127.0.0.1; the provider requires no key)"),
      Flag.withDefault("127.0.0.1")
    )
  },
  (options) => Effect.provide(serve(options), Signals.layer)
).pipe(
  Command.withDescription("Run a provider that fails on demand, to test an agent against an outage"),
  Command.withExamples([
    { command: "holdfast simulate", description: "Two overloads a turn, then an answer" },
    {
      command: "holdfast simulate --script down-for-90s",
      description: "An outage of 90 seconds from a turn's first request"
    },
    {
      command: "holdfast simulate --script '529 for 10m'",
      description: "Overloaded for 10 minutes by the clock, for all turns"
    },
    {
      command: "holdfast simulate --script '429x2;retry-after=7,cut-after-3'",
      description: "Rate limits, then a cut stream"
    }
  ])
)

/** Serves until the first signal. Fails where the script is not valid or the address cannot be used. */
export const serve = Effect.fnUntraced(function* ({ host, port, script }: Options) {
  const terminal = yield* Terminal
  const signals = yield* Signals.Signals
  const description = Simulated.describe(script)
  if (Result.isFailure(description))
    return yield* new Refused({ message: `--script: ${description.failure.message}`, exitCode: ExitCode.USAGE })
  yield* Effect.scoped(
    Effect.gen(function* () {
      const { url } = yield* SimulatedServer.start({ host, port, script, onResponse: report(terminal) })
      const [title = "", ...lines] = banner(url, description.success)
      terminal.stdout(`${[paint(terminal.colors.stdout, "bold", title), ...lines].join("\n")}\n`)
      yield* signals.first
    })
  ).pipe(
    Effect.mapError(
      ({ message }) =>
        new Refused({
          message: `The provider cannot listen on ${host}, port ${port}: ${message}. Choose another port with --port N.`,
          exitCode: ExitCode.FAILED
        })
    )
  )
  // The terminal shows `^C` at the beginning of the line.
  if (terminal.isStderrTerminal) terminal.stderr("\n")
})

// --- internal

/** The lines that are printed once the provider listens. */
const banner = (url: string, description: string): ReadonlyArray<string> => [
  `The simulated provider listens on ${url}`,
  "",
  description,
  "",
  "Point your agent at it. Any key and any model name will do:",
  `  OpenAI-compatible  OPENAI_BASE_URL=${url}/v1`,
  `  Anthropic          ANTHROPIC_BASE_URL=${url}`,
  "",
  "Try it:",
  `  curl -iN -H content-type:application/json -d '{"model":"any","stream":true,"messages":[{"role":"user","content":"Hello"}]}' ${url}/v1/chat/completions`,
  "",
  "Each request is printed below with its outcome. Ctrl-C stops the provider.",
  ""
]

const report =
  (terminal: Terminal["Service"]) =>
  ({ model, outcome, request }: SimulatedServer.Responded): void =>
    terminal.stdout(`request ${request}, model ${JSON.stringify(model)}: ${outcome}\n`)
