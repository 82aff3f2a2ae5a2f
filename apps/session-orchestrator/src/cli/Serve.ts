/**
 * Runs `holdfast serve`: the service, from its banner to its shutdown.
 *
 * The first Ctrl-C or SIGTERM closes the layers, each within its own time limit; the second ends the process at once. The start, the signal
 * and the end are logged.
 */
import { Profile } from "@holdfast/policy"
import { DefaultAddress, Target } from "@holdfast/wire"
import { Context, Effect, Layer, Result } from "effect"
import { Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import type { Values } from "../config/Config.ts"
import * as MemoryReturn from "../base/system/MemoryReturn.ts"
import * as DatabaseUrl from "../storage/sql/DatabaseUrl.ts"
import * as Declaration from "./Declaration.ts"
import * as PolicyText from "../base/text/PolicyText.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import { paint, Terminal } from "./terminal/Terminal.ts"

/** The command `serve`. */
export const command = Setup.command(
  {
    name: "serve",
    does: "Run the service until Ctrl-C",
    options: {
      port: Declaration.orUndefined(
        Declaration.whole("port", `Port to listen on (default: ${DefaultAddress.PORT}; 0 takes any free port)`)
      ).pipe(Flag.withAlias("p")),
      host: Declaration.text(
        "host",
        "ADDRESS",
        `Address to listen on (default: ${DefaultAddress.HOST}; an address that is not loopback needs a token)`
      ),
      runner: Declaration.text(
        "runner",
        "HOST:PORT",
        "With database.url: the address of this runner for the others (default: 127.0.0.1:4748)"
      )
    },
    examples: {
      "holdfast serve": `On ${DefaultAddress.ORIGIN}, data under .holdfast/`,
      "holdfast serve --config night.json --port 8080": "With another configuration"
    }
  },
  (_flags, config, parts) =>
    Effect.scoped(serve(parts, config)).pipe(
      Effect.tap(Effect.logInfo("Holdfast has stopped.")),
      Effect.provide(Signals.layer)
    ),
  { flags: (flags) => flags, isService: true }
)

/** The lines that are printed once the service listens. */
export const banner = (
  parts: Pick<Declaration.CommandParts, "environment" | "version" | "simulated">,
  config: Values,
  url: string
): ReadonlyArray<string> => {
  const { model } = config
  const isUsual = url === DefaultAddress.ORIGIN
  const isSimulated = model !== undefined && config.providers.get(model.provider)?.type === "simulated"
  return [
    `Holdfast ${parts.version} listens on ${url}`,
    "",
    `  model  ${model === undefined ? NO_MODEL : Target.format(model)}`,
    `  retry  ${config.retry.profile ?? "overnight"}: ${PolicyText.summary(Profile.resolve(config.retry))}`,
    `  data   ${dataOf(config)}`,
    `  page   ${url}/`,
    `  docs   ${url}/docs`,
    ...config.notices.flatMap((notice) => ["", notice]),
    ...(isSimulated ? ["", Result.getOrElse(parts.simulated.describe(model.model), ({ message }) => message)] : []),
    "",
    ...(model === undefined ? [] : [`Try it: ${nameOf(parts)} run "Hello"${isUsual ? "" : ` --url ${url}`}`, ""]),
    "Ctrl-C stops the service. Waiting turns are kept, and continue after the next start."
  ]
}

// --- internal

const NO_MODEL = "none"

const dataOf = ({ cluster: { runner }, database }: Values): string =>
  database.url === undefined
    ? database.path
    : `${DatabaseUrl.nameOf(database.url)}, as runner ${runner.host}:${runner.port}`

const serve = Effect.fnUntraced(function* (parts: Declaration.CommandParts, config: Values) {
  const terminal = yield* Terminal
  const signals = yield* Signals.Signals
  const running = Effect.gen(function* () {
    const { address } = Context.get(yield* Layer.build(parts.service), HttpServer.HttpServer)
    const url = HttpServer.formatAddress(address)
    const [title = "", ...lines] = banner(parts, config, url)
    yield* Effect.annotateLogs(Effect.logInfo("Holdfast has started."), {
      version: parts.version,
      url,
      configuration: config.file ?? "defaults and environment",
      database: dataOf(config),
      model: config.model === undefined ? NO_MODEL : Target.format(config.model)
    })
    terminal.stdout(`${[paint(terminal.colors.stdout, "bold", title), ...lines].join("\n")}\n`)
    yield* Effect.forkScoped(parts.page)
    return yield* MemoryReturn.run()
  })
  const signal = yield* Effect.raceFirst(running, signals.first)
  // The terminal prints `^C` at the beginning of the line.
  if (terminal.isStderrTerminal) terminal.stderr("\n")
  yield* Effect.logInfo(`Stopping after ${signal}: answers that have begun may finish. A second signal quits at once.`)
})

/** The command in the shell that has started this one: a script of a package manager has no name for it. */
const nameOf = ({ environment }: Pick<Declaration.CommandParts, "environment">): string =>
  environment["npm_lifecycle_event"] === undefined ? "holdfast" : "npx --yes pnpm@12 holdfast"
