/**
 * Runs `holdfast connect`: prints how a client is given Holdfast's address as its base URL, or sets it in the client's own configuration.
 *
 * ConnectCommand.N1. A file is written with `--write` alone. What it was before is kept beside it, and `--undo` puts the former value back.
 */
import { Effect, FileSystem, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { RetrySettings } from "@holdfast/policy"
import * as Environment from "../config/reading/Environment.ts"
import * as Endpoints from "../gateway/Endpoints.ts"
import { causeOf } from "../system/PlatformFailure.ts"
import * as Address from "./client/Address.ts"
import * as ClientFile from "./connect/ClientFile.ts"
import * as Clients from "./connect/Clients.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as Setup from "./Setup.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The command `connect`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make(
    "connect",
    {
      client: Argument.Literals("client", Clients.names).pipe(
        Argument.withDescription(`The program to connect: ${Clients.names.join(", ")}`)
      ),
      config: Setup.configFlag,
      provider: Flag.String("provider").pipe(
        Flag.withMetavar("NAME"),
        Flag.withDescription("Another provider of the configuration than the client's own"),
        Flag.optional
      ),
      profile: Flag.Literals("profile", RetrySettings.ProfileName.literals).pipe(
        Flag.withDescription("Retry profile of its calls"),
        Flag.optional
      ),
      url: Flag.String("url").pipe(
        Flag.withMetavar("URL"),
        Flag.withDescription("Address of the service (default: that of the configuration)"),
        Flag.optional
      ),
      write: Flag.Boolean("write").pipe(
        Flag.withDescription("Set it in the client's own configuration"),
        Flag.withDefault(false)
      ),
      undo: Flag.Boolean("undo").pipe(Flag.withDescription("Take it back"), Flag.withDefault(false))
    },
    ({ client: name, config: file, profile, provider: named, undo, url, write }) =>
      Setup.withConfig(parts, { file: Option.getOrUndefined(file) }, (config) =>
        Effect.gen(function* () {
          const terminal = yield* Terminal
          const client = Clients.table.find((client) => client.name === name)
          if (client === undefined) return
          const provider = Option.getOrElse(named, () => client.provider)
          const endpoints = Endpoints.of(config)
          if (!endpoints.has(provider)) return yield* refuse(unknown(provider, endpoints))
          const address = Address.of(Option.getOrUndefined(url), parts.environment, config.server)
          if (Result.isFailure(address)) return yield* refuse(address.failure)
          const base = Clients.urlFor(client, address.success.url, provider, Option.getOrUndefined(profile))
          const place = client.place?.(provider)
          if (!write && !undo) {
            const line = client.line?.(base, provider) ?? (place && setting(place, base))
            if (line !== undefined) terminal.stdout(`${line}\n`)
            if (place !== undefined) {
              terminal.stderr(`--write sets it in ~/${place.file}, and --undo takes it back.\n`)
            }
            return
          }
          if (place === undefined) return yield* refuse(`${name} has no configuration of its own: use the line above.`)
          const home = Environment.get(parts.environment, "HOME")
          if (home === undefined) return yield* refuse("HOME is not set, so the client's configuration is not known.")
          yield* undo ? takeBack(place, home) : put(place, home, base, client.addsProvider?.(provider))
          terminal.stdout(`~/${place.file}: ${undo ? "as before" : setting(place, base)}.\n`)
        })
      )
  ).pipe(
    Command.withDescription("Print how an agent's calls pass through Holdfast, or set it in the agent's configuration"),
    Command.withExamples([
      { command: "holdfast connect claude", description: "The line that starts Claude Code through Holdfast" },
      { command: "holdfast connect codex --write", description: "Set it in ~/.codex/config.toml" },
      { command: "holdfast connect codex --undo", description: "Take it back" }
    ])
  )

// --- internal

/** The end of the name of the file that keeps the former text (ConnectCommand.N1). */
const BEFORE = ".before-holdfast"

const setting = (place: ClientFile.Place, base: string): string => `${place.key.join(".")} is ${base}`

const refuse = (message: string) => Effect.fail(new Refused({ message, exitCode: ExitCode.USAGE }))

const unknown = (provider: string, endpoints: Endpoints.Endpoints): string =>
  `The configuration has no provider ${JSON.stringify(provider)} with a base URL. It has ${Array.from(endpoints.keys()).join(", ")}.`

const read = Effect.fnUntraced(function* (path: string) {
  const files = yield* FileSystem.FileSystem
  return yield* Effect.orElseSucceed(files.readFileString(path), () => undefined)
})

const save = Effect.fnUntraced(function* (path: string, text: string) {
  const files = yield* FileSystem.FileSystem
  yield* Effect.mapError(
    files.writeFileString(path, text),
    (error) => new Refused({ message: `${path} cannot be written: ${causeOf(error)}.`, exitCode: ExitCode.FAILED })
  )
})

const put = Effect.fnUntraced(function* (
  place: ClientFile.Place,
  home: string,
  base: string,
  addsProvider: string | undefined
) {
  const path = `${home}/${place.file}`
  const files = yield* FileSystem.FileSystem
  const known = yield* read(path)
  if (addsProvider !== undefined && !ClientFile.has(place, known ?? "")) {
    return yield* refuse(`${path} has no ${place.key.slice(0, -1).join(".")}. Run \`${addsProvider}\` first.`)
  }
  if (known === undefined) {
    yield* Effect.ignore(files.makeDirectory(path.slice(0, path.lastIndexOf("/")), { recursive: true }))
  }
  const text = known ?? ""
  // Written again, the first text is still the former one.
  if ((yield* read(path + BEFORE)) === undefined) yield* save(path + BEFORE, text)
  yield* save(path, ClientFile.set(place, text, base))
})

const takeBack = Effect.fnUntraced(function* (place: ClientFile.Place, home: string) {
  const path = `${home}/${place.file}`
  const [text, before] = [yield* read(path), yield* read(path + BEFORE)]
  if (text === undefined || before === undefined) return yield* refuse(`${path} was not changed by --write.`)
  yield* save(path, ClientFile.set(place, text, ClientFile.get(place, before)))
  const files = yield* FileSystem.FileSystem
  yield* Effect.ignore(files.remove(path + BEFORE))
})
