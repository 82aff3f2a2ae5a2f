/**
 * Runs `holdfast connect`: prints how a client is given Holdfast's address as its base URL, or sets it in the client's own
 * configuration.
 *
 * A file is written with `--write` alone, and keeps its mode and all other bytes. What it was before is kept beside it, and `--undo`
 * puts the former value back.
 */
import { Effect, FileSystem, Option, Result } from "effect"
import { Argument } from "effect/cli"
import { isUtf8 } from "node:buffer"
import { isDeepStrictEqual } from "node:util"
import * as Environment from "../config/reading/Environment.ts"
import { causeOf } from "../base/system/PlatformFailure.ts"
import * as RunningService from "./client/RunningService.ts"
import * as ClientFile from "./connect/ClientFile.ts"
import * as Clients from "./connect/Clients.ts"
import * as Pointing from "./Pointing.ts"
import * as Declaration from "./Declaration.ts"
import { Refused } from "./Ended.ts"
import * as Setup from "./Setup.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The command `connect`. */
export const command = Setup.command(
  {
    name: "connect",
    does: "Print how an agent's calls pass through Holdfast, or set it in the agent's configuration",
    options: {
      client: Argument.ChoiceWithValue(
        "client",
        Clients.table.map((client) => [client.name, client] as const)
      ).pipe(Argument.withDescription(`The program to connect: ${Clients.names.join(", ")}`)),
      ...Pointing.flags,
      url: Declaration.text("url", "URL", "Address of the service (default: that of the configuration)"),
      write: Declaration.toggle("write", "Set it in the client's own configuration"),
      undo: Declaration.toggle("undo", "Take it back")
    },
    examples: {
      "holdfast connect claude": "The line that starts Claude Code through Holdfast",
      "holdfast connect codex --write": "Set it in ~/.codex/config.toml",
      "holdfast connect codex --undo": "Take it back"
    }
  },
  Effect.fnUntraced(function* ({ client, profile, provider: wanted, undo, url, write }, config, parts) {
    const terminal = yield* Terminal
    const home = Environment.get(parts.environment, "HOME")
    const { url: service } = yield* RunningService.addressOf(url, parts.environment, config.server)
    const pointing = yield* Pointing.of(client, { config, home, profile, provider: wanted, service })
    const { provider, url: base, variables } = pointing
    const known = client.place?.(provider)
    const place = known && (yield* present(known, home))
    if (!write && !undo) {
      const line = Pointing.line(client, pointing) ?? (place && setting(place, base))
      if (line !== undefined) terminal.stdout(`${line}\n`)
      if (place !== undefined) {
        terminal.stderr(`--write sets it in ~/${place.file}, and --undo takes it back.\n`)
      }
      return
    }
    if (place === undefined) return yield* refuse(`${client.name} has no configuration of its own: use the line above.`)
    if (home === undefined) return yield* refuse("HOME is not set, so the client's configuration is not known.")
    const { addsProvider, settings = [], variables: all = [] } = client
    if (undo) {
      yield* takeBack(valuesOf(place, base, all, settings), home)
      return terminal.stdout(`~/${place.file}: as before.\n`)
    }
    yield* put(valuesOf(place, base, variables, settings), home, addsProvider?.(provider))
    const also = variables.map(({ name, value }) => `, ${name} is ${value}`).join("")
    terminal.stdout(`~/${place.file}: ${setting(place, base)}${also}.\n`)
  })
)

// --- internal

/** The end of the name of the file that keeps the former text. */
const BEFORE = ".before-holdfast"

const setting = (place: ClientFile.FilePlace, base: string): string => `${place.key.join(".")} is ${base}`

const refuse = Refused.usage

/** The place, in `FILE.jsonc` where the client reads that too and it alone exists. */
const present = Effect.fnUntraced(function* (place: ClientFile.FilePlace, home: string | undefined) {
  const files = yield* FileSystem.FileSystem
  const other = { ...place, file: `${place.file}c` }
  const isThere = (file: string) => Effect.orElseSucceed(files.exists(`${home}/${file}`), () => false)
  if (!place.hasComments || home === undefined || (yield* isThere(place.file))) return place
  return (yield* isThere(other.file)) ? other : place
})

/** A value, and where it is. */
interface Value {
  readonly place: ClientFile.FilePlace
  readonly value: ClientFile.Value
  /** A value that is there stays. */
  readonly keepsOther?: boolean
}

/** The base URL, the variables beside it, then the client's other settings. */
const valuesOf = (
  place: ClientFile.FilePlace,
  base: string,
  variables: ReadonlyArray<Clients.Variable>,
  settings: Required<Clients.Program>["settings"]
): readonly [Value, ...Array<Value>] => [
  { place, value: base },
  ...variables.map(({ name, value }) => ({ place: { ...place, key: [...place.key.slice(0, -1), name] }, value })),
  ...settings.map(({ key, value }) => ({ place: { ...place, key }, value, keepsOther: true }))
]

/** The text with each of the values that `valueOf` names, or without it; `undefined`: the text is not of the places' format. */
const withValues = (
  values: ReadonlyArray<Value>,
  text: string,
  valueOf: (value: Value) => ClientFile.Value | undefined
): string | undefined =>
  values.reduce<string | undefined>(
    (text, value) => (text === undefined ? undefined : ClientFile.set(value.place, text, valueOf(value))),
    text
  )

/** A client's file: its text, apart from a byte order mark, and its mode. */
interface Known {
  readonly text: string
  readonly mark: "" | "\ufeff"
  readonly mode: number
}

/** A new file of settings is its owner's alone. */
const NEW: Known = { text: "", mark: "", mode: 0o600 }

/** The file; `undefined`: there is none. A link may lead to a file that is not the client's alone, such as one of a repository: it is refused. */
const read = Effect.fnUntraced(function* (path: string) {
  const files = yield* FileSystem.FileSystem
  const target = yield* Effect.option(files.readLink(path))
  if (Option.isSome(target)) {
    return yield* refuse(
      `${path} is a symbolic link to ${target.value}. Set the value there by hand, or replace the link by the file.`
    )
  }
  const found = yield* Effect.result(Effect.all([files.readFile(path), files.stat(path)]))
  if (Result.isFailure(found)) {
    const { failure } = found
    return failure.reason._tag === "NotFound"
      ? undefined
      : yield* Refused.failed(`${path} cannot be read: ${causeOf(failure)}. Nothing was changed.`)
  }
  const [bytes, { mode }] = found.success
  if (!isUtf8(bytes)) return yield* refuse(`${path} is not UTF-8. Nothing was changed.`)
  const text = Buffer.from(bytes).toString()
  const mark = text.startsWith("\ufeff") ? "\ufeff" : ""
  return { text: text.slice(mark.length), mark, mode: mode & 0o7777 } satisfies Known
})

/** Writes beside the file and renames: a reader, or a disk that is full, never meets half of it. */
const save = Effect.fnUntraced(function* (path: string, { mark, mode, text }: Known) {
  const files = yield* FileSystem.FileSystem
  const beside = `${path}.${process.pid}.holdfast`
  const written = files.writeFile(beside, new TextEncoder().encode(mark + text), { flag: "wx", mode }).pipe(
    Effect.andThen(files.chmod(beside, mode)), // The process's mask was applied before.
    Effect.andThen(files.rename(beside, path)),
    Effect.tapError(() => Effect.ignore(files.remove(beside)))
  )
  yield* Effect.catch(written, (error) => Effect.fail(Refused.failed(`${path} cannot be written: ${causeOf(error)}.`)))
})

const put = Effect.fnUntraced(function* (
  values: readonly [Value, ...Array<Value>],
  home: string,
  addsProvider: string | undefined
) {
  const [{ place }] = values
  const path = `${home}/${place.file}`
  const files = yield* FileSystem.FileSystem
  const known = yield* read(path)
  if (addsProvider !== undefined && !ClientFile.has(place, known?.text ?? "")) {
    return yield* refuse(`${path} has no ${place.key.slice(0, -1).join(".")}. Run \`${addsProvider}\` first.`)
  }
  if (known === undefined) {
    yield* Effect.ignore(files.makeDirectory(path.slice(0, path.lastIndexOf("/")), { recursive: true }))
  }
  const before = known ?? NEW
  const text = withValues(values, before.text, ({ keepsOther, place, value }) =>
    keepsOther === true ? (ClientFile.get(place, before.text) ?? value) : value
  )
  if (text === undefined) return yield* refuse(unreadable(path, place))
  // A second `--write` keeps the text from before the first.
  if ((yield* read(path + BEFORE)) === undefined) yield* save(path + BEFORE, before)
  yield* save(path, { ...before, text })
})

const takeBack = Effect.fnUntraced(function* (values: readonly [Value, ...Array<Value>], home: string) {
  const [{ place }] = values
  const path = `${home}/${place.file}`
  const [known, before] = [yield* read(path), yield* read(path + BEFORE)]
  if (known === undefined || before === undefined) return yield* refuse(`${path} was not changed by --write.`)
  // What a person has put in the place of one of the client's other settings is the person's.
  const own = values.filter(
    ({ keepsOther, place, value }) => keepsOther !== true || isDeepStrictEqual(ClientFile.get(place, known.text), value)
  )
  // A file that differs from the former text by our values alone is as before, byte for byte; otherwise its other changes stay.
  const again = withValues(own, before.text, ({ place }) => ClientFile.get(place, known.text))
  const text =
    known.text === again ? before.text : withValues(own, known.text, ({ place }) => ClientFile.get(place, before.text))
  if (text === undefined) return yield* refuse(unreadable(path, place))
  const files = yield* FileSystem.FileSystem
  yield* text === "" ? Effect.ignore(files.remove(path)) : save(path, { ...known, text })
  yield* Effect.ignore(files.remove(path + BEFORE))
})

const unreadable = (path: string, { format, key }: ClientFile.FilePlace): string =>
  `${path} is not valid ${format.toUpperCase()} with a place for ${key.join(".")}. Nothing was changed: correct the file first.`
