/**
 * `holdfast simulate`: serves a provider with a scripted outage, to test any agent.
 *
 * It needs no configuration, database or key. The first Ctrl-C or SIGTERM stops it with exit code 0; the second ends the process at once.
 */
import { Simulated } from "@holdfast/simulated"
import * as SimulatedServer from "@holdfast/simulated/server"
import { Effect, Result } from "effect"
import { Flag } from "effect/cli"
import * as Declaration from "./Declaration.ts"
import { Refused } from "./Ended.ts"
import * as Signals from "./Signals.ts"
import { paint, Terminal } from "./terminal/Terminal.ts"

/** Beside the service's 4747 and the runners' 4748, so that both can run on one machine. */
const DEFAULT_PORT = 4750

/** Where the provider listens, and how it responds. */
interface Options {
  readonly script: string
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
}

/** The command `simulate`. */
export const command = Declaration.command(
  {
    name: "simulate",
    does: "Run a provider that fails on demand, to test an agent against an outage",
    options: {
      script: Declaration.text(
        "script",
        "SCRIPT",
        "What each turn meets, such as 429x2,502 or '529 for 7h' or cut-after-3 (docs/simulated.md has the language)"
      ).pipe(Flag.withAlias("s")),
      port: Declaration.whole(
        "port",
        `Port to listen on (default: ${DEFAULT_PORT}; 0 takes any that is free)`,
        0,
        65_535
      ).pipe(Flag.withDefault(DEFAULT_PORT), Flag.withAlias("p")),
      host: Declaration.text(
        "host",
        "ADDRESS",
        "Address to listen on (default: 127.0.0.1; the provider requires no key)"
      )
    },
    examples: {
      "holdfast simulate": "Two overloads a turn, then an answer",
      "holdfast simulate --script down-for-90s": "An outage of 90 seconds from a turn's first request",
      "holdfast simulate --script '529 for 10m'": "Overloaded for 10 minutes by the clock, for all turns",
      "holdfast simulate --script '429x2;retry-after=7,cut-after-3'": "Rate limits, then a cut stream"
    }
  },
  ({ host = "127.0.0.1", port, script = Simulated.DEFAULT_MODEL }) =>
    Effect.provide(serve({ host, port, script }), Signals.layer),
  {}
)

/** Serves until the first signal. Fails where the script is not valid or the address cannot be used. */
export const serve = Effect.fnUntraced(function* ({ host, port, script }: Options) {
  const terminal = yield* Terminal
  const signals = yield* Signals.Signals
  const description = Simulated.describe(script)
  if (Result.isFailure(description)) return yield* Refused.usage(`--script: ${description.failure.message}`)
  yield* Effect.scoped(
    Effect.gen(function* () {
      const { url } = yield* SimulatedServer.start({ host, port, script, onResponse: report(terminal) })
      const [title = "", ...lines] = banner(url, description.success)
      terminal.stdout(`${[paint(terminal.colors.stdout, "bold", title), ...lines].join("\n")}\n`)
      yield* signals.first
    })
  ).pipe(
    Effect.mapError(({ message }) =>
      Refused.failed(
        `The provider cannot listen on ${host}, port ${port}: ${message}. Choose another port with --port N.`
      )
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
