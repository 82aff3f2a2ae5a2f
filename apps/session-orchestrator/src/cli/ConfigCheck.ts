/** Runs `holdfast config check`: prints the configuration in force with sources, or all problems. */
import type { EffectiveConfiguration } from "@holdfast/wire"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { Values } from "../config/Config.ts"
import * as InForce from "../insight/inspection/in-force/InForce.ts"
import * as AiSdkPackage from "../providers/AiSdkPackage.ts"
import type * as Declaration from "./Declaration.ts"
import * as Document from "../base/text/Document.ts"
import * as Tenancy from "../storage/sqlite/Tenancy.ts"
import { Refused } from "./Ended.ts"
import * as Setup from "./Setup.ts"

/** The command `config` with its subcommand `check`. */
export const command = (parts: Declaration.CommandParts) =>
  Command.make("config").pipe(
    Command.withDescription("Look at the configuration"),
    Command.withSubcommands([check(parts)])
  )

/** The configuration in force as lines, without secrets. */
export const report = (config: Values): ReadonlyArray<string> => {
  const { entries, file, notices, unused } = InForce.of(config)
  return [
    file === undefined
      ? "There is no configuration file. In force:"
      : `${file} is good. In force, with the line or another source in brackets:`,
    "",
    ...Document.aligned(
      entries.map((entry) => [`  ${entry.key}`, `${entry.value}${bracketed(entry, file !== undefined)}`])
    ),
    ...(unused.length === 0 ? [] : ["", `Known, and not in use: ${unused.join(", ")}.`]),
    ...notices.flatMap((notice) => ["", notice])
  ]
}

// --- internal

const check = Setup.command(
  {
    name: "check",
    does: "Print the configuration in force, keys redacted; or every problem, with exit code 2",
    options: {},
    examples: {
      "holdfast config check": "Check what `serve` would start with",
      "holdfast config check --config night.json": "Check another file"
    }
  },
  Effect.fnUntraced(function* (_given, config) {
    yield* AiSdkPackage.check(config)
    if (config.database.url === undefined)
      yield* Effect.mapError(Tenancy.check(config.database.path), ({ message }) => Refused.usage(message))
    yield* Setup.printLines(report(config))
  }),
  { isService: true }
)

/** The source of a value, unless it is the expected one: without a file the defaults, and for servers the variable of the key. */
const bracketed = ({ key, source }: EffectiveConfiguration.Entry, hasFile: boolean): string => {
  switch (source.from) {
    case "default":
      return !hasFile || WITHOUT_DEFAULT.test(key) ? "" : "  (default)"
    case "profile":
      return hasFile ? `  (profile ${source.name})` : ""
    case "file":
      return source.line === undefined ? "" : `  (line ${source.line})`
    case "environment":
      return source.name?.startsWith("HOLDFAST_") === true ? `  (${source.name})` : ""
    case "flag":
      return `  (${source.name})`
    default:
      return source.from satisfies never
  }
}

/** Keys that are off unless something is set. */
const WITHOUT_DEFAULT = /^(?:providers|telemetry)\./
