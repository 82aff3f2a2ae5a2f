/**
 * Runs `holdfast serve`: the service, from its banner to its shutdown.
 *
 * The first Ctrl-C or SIGTERM closes the layers, each within its own time limit; the second ends the process at once. The start, the signal
 * and the end are logged.
 */
import { Profile } from "@holdfast/policy"
import { DefaultAddress, Target } from "@holdfast/wire"
import { Context, Effect, Layer, Option, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import type { Values } from "../config/Config.ts"
import * as MemoryReturn from "../system/MemoryReturn.ts"
import * as PageFiles from "../http/page/PageFiles.ts"
import * as DatabaseUrl from "../storage/sql/DatabaseUrl.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as PolicyText from "../text/PolicyText.ts"
import * as Setup from "./Setup.ts"
import * as Signals from "./Signals.ts"
import { paint, Terminal } from "./terminal/Terminal.ts"

/** The command `serve`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "serve",
    {
      config: Setup.configFlag,
      port: Flag.Int("port").pipe(
        Flag.withAlias("p"),
        Flag.withMetavar("N"),
        Flag.withDescription(`Port to listen on (default: ${DefaultAddress.PORT}; 0 takes any free port)`),
        Flag.optional
      ),
      host: Setup.textFlag(
        "host",
        "ADDRESS",
        `Address to listen on (default: ${DefaultAddress.HOST}; an address that is not loopback needs a token)`
      ),
      runner: Setup.textFlag(
        "runner",
        "HOST:PORT",
        "With database.url: the address of this runner for the others (default: 127.0.0.1:4748)"
      )
    },
    ({ config: file, host, port, runner }) =>
      Setup.withConfig(
        parts,
        {
          file: Option.getOrUndefined(file),
          flags: {
            host: Option.getOrUndefined(host),
            port: Option.getOrUndefined(port),
            runner: Option.getOrUndefined(runner)
          },
          isService: true
        },
        (config) =>
          Effect.scoped(serve(parts, config)).pipe(
            Effect.tap(Effect.logInfo("Holdfast has stopped.")),
            Effect.provide(Signals.layer)
          )
      )
  ).pipe(
    Command.withDescription("Run the service until Ctrl-C"),
    Command.withExamples([
      { command: "holdfast serve", description: `On ${DefaultAddress.ORIGIN}, data under .holdfast/` },
      { command: "holdfast serve --config night.json --port 8080", description: "With another configuration" }
    ])
  )

/** The lines that are printed once the service listens. */
export const banner = <E extends StartFailure>(
  parts: Pick<Parts<E>, "version" | "simulated">,
  config: Values,
  url: string
): ReadonlyArray<string> => {
  const { model } = config
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
    ...(model === undefined ? [] : ["Try it:", `  ${curl(url, config.server)}`, ""]),
    "Ctrl-C stops the service. Waiting turns are kept, and continue after the next start."
  ]
}

// --- internal

const NO_MODEL = "none"

const dataOf = ({ cluster: { runner }, database }: Values): string =>
  database.url === undefined
    ? database.path
    : `${DatabaseUrl.nameOf(database.url)}, as runner ${runner.host}:${runner.port}`

const serve = Effect.fnUntraced(function* <E extends StartFailure>(parts: Parts<E>, config: Values) {
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
    yield* Effect.forkScoped(PageFiles.build)
    return yield* MemoryReturn.run()
  })
  const signal = yield* Effect.raceFirst(running, signals.first)
  // The terminal prints `^C` at the beginning of the line.
  if (terminal.isStderrTerminal) terminal.stderr("\n")
  yield* Effect.logInfo(`Stopping after ${signal}: answers that have begun may finish. A second signal quits at once.`)
})

/** A shell command that creates a conversation and runs a turn. */
const curl = (url: string, { token, tokenVariable }: Values["server"]): string => {
  const where = tokenVariable === undefined ? "<server.token>" : `$${tokenVariable}`
  const authorization = token === undefined ? "" : ` -H "authorization: Bearer ${where}"`
  const post = `curl -sN${authorization} -H content-type:application/json`
  const conversation = `$(${post} -d '{}' ${url}/v1/conversations | cut -d'"' -f4)`
  return `${post} -H accept:application/x-ndjson -d '{"prompt":"Hello"}' ${url}/v1/conversations/${conversation}/turns`
}
