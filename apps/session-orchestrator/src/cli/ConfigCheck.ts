/** Runs `holdfast config check`: prints the configuration in force with sources, or all problems. */
import type { EffectiveConfiguration } from "@holdfast/wire"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { Values } from "../config/Config.ts"
import * as InForce from "../inspection/in-force/InForce.ts"
import * as AiSdkPackage from "../providers/AiSdkPackage.ts"
import type { Parts, StartFailure } from "./Parts.ts"
import * as Setup from "./Setup.ts"
import { Terminal } from "./terminal/Terminal.ts"

/** The command `config` with its subcommand `check`. */
export const command = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make("config").pipe(
    Command.withDescription("Look at the configuration"),
    Command.withSubcommands([check(parts)])
  )

/** The configuration in force as lines, without secrets. */
export const report = (config: Values): ReadonlyArray<string> => {
  const { entries, file, notices, unused } = InForce.of(config)
  const width = Math.max(...entries.map(({ key }) => key.length))
  return [
    file === undefined
      ? "There is no configuration file. In force:"
      : `${file} is good. In force, with the line or another source in brackets:`,
    "",
    ...entries.map((entry) => `  ${entry.key.padEnd(width)}  ${entry.value}${bracketed(entry, file !== undefined)}`),
    ...(unused.length === 0 ? [] : ["", `Known, and not in use: ${unused.join(", ")}.`]),
    ...notices.flatMap((notice) => ["", notice])
  ]
}

// --- internal

const check = <E extends StartFailure>(parts: Parts<E>) =>
  Command.make("check", { config: Setup.configFlag }, ({ config: file }) =>
    Setup.withConfig(parts, { file: Option.getOrUndefined(file), isService: true }, (config) =>
      Effect.gen(function* () {
        const terminal = yield* Terminal
        yield* AiSdkPackage.check(config)
        terminal.stdout(`${report(config).join("\n")}\n`)
      })
    )
  ).pipe(
    Command.withDescription("Print the configuration in force, keys redacted; or every problem, with exit code 2"),
    Command.withExamples([
      { command: "holdfast config check", description: "Check what `serve` would start with" },
      { command: "holdfast config check --config night.json", description: "Check another file" }
    ])
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
