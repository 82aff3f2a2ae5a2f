/**
 * Declares a command: its options, its help and its examples, each said once, and what all commands run with. An option that is left out is
 * `undefined`.
 */
import { RetrySettings } from "@holdfast/policy"
import { Ids, Labels } from "@holdfast/wire"
import { Clock, Duration, Effect, type Layer, Option, Schema } from "effect"
import { Argument, CliError, Command, Flag } from "effect/cli"
import * as Load from "../config/Load.ts"
import * as DurationText from "../base/text/DurationText.ts"
import type { HttpServer } from "effect/http"
import type { Config } from "../config/Config.ts"
import type { Environment } from "../config/reading/Environment.ts"
import type { SimulatedModels } from "../config/ModelChoice.ts"
import type { Secrets } from "../config/redaction/Secrets.ts"
import type { Inspection } from "../insight/inspection/Inspection.ts"
import type { PeriodReports } from "../insight/inspection/period/PeriodReports.ts"
import type { StoredTurns } from "../insight/inspection/StoredTurns.ts"
import type { Lists } from "../storage/Lists.ts"
import type { Store } from "../storage/Store.ts"
import type * as Backup from "../storage/sqlite/Backup.ts"

/** A failure, with a message for the person, which is printed as it is. */
export interface CommandFailure {
  readonly message: string
}

/** The readers of a database. */
export type Inspected = Inspection | StoredTurns | PeriodReports | Lists | Store

/** The dependencies of the commands. */
export interface CommandParts {
  readonly version: string
  readonly environment: Environment
  readonly simulated: SimulatedModels
  /** Reads the database, with a service running or without. */
  readonly inspection: Layer.Layer<Inspected, CommandFailure, Config>
  /** Copies a SQLite database. */
  readonly backup: Effect.Effect<typeof Backup.make>
  /** Builds the page at / where the process runs a checkout. */
  readonly page: Effect.Effect<void>
  /** The whole service, listening once it is built. */
  readonly service: Layer.Layer<HttpServer.HttpServer, CommandFailure, Config | Secrets>
}

/** The options of a command. */
export type Options = Command.Command.Config

/** A command as its help has it. */
export interface Declaration<Own> {
  readonly name: string
  readonly does: string
  /** In the list of all commands; absent: the same. */
  readonly short?: string
  readonly options: Own
  /** Command lines, each with what it does. */
  readonly examples: Readonly<Record<string, string>>
}

/** Options as a command line gives them. */
export type Given<Own extends Options> = Command.Command.Config.Infer<Own>

/** What a command does, with its options and with what it runs on. */
export type CommandBody<Own extends Options, On extends ReadonlyArray<unknown>, R> = (
  given: Given<Own>,
  ...on: On
) => Effect.Effect<void, CommandFailure, R>

/** Declares a command. `shared` are options that it has with others. */
export const command =
  <const Own extends Options, const Shared extends Options, E, R>(
    { does, examples, name, options, short = does }: Declaration<Own>,
    run: (given: Given<Own>, shared: Given<Shared>, parts: CommandParts) => Effect.Effect<void, E, R>,
    shared: Shared
  ) =>
  (parts: CommandParts) =>
    // The library infers both, which the compiler cannot follow over type parameters.
    Command.make(name, { options, shared }, (given) =>
      run(given.options as Given<Own>, given.shared as Given<Shared>, parts)
    ).pipe(
      Command.withDescription(does),
      Command.withShortDescription(short),
      Command.withExamples(Object.entries(examples).map(([command, description]) => ({ command, description })))
    )

/** A text that has to be given. */
export const required = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description))

/** A text. */
export const text = (name: string, metavar: string, description: string) =>
  orUndefined(required(name, metavar, description))

/** A text that may be given any number of times. */
export const texts = (name: string, metavar: string, description: string, form: Form<string> = ANY) =>
  required(name, metavar, description).pipe(Flag.mapEffect(reader("flag", name, form)), Flag.atLeast(0))

/** One of some words. */
export const word = <const Words extends ReadonlyArray<string>>(name: string, words: Words, description: string) =>
  orUndefined(Flag.Literals(name, words).pipe(Flag.withDescription(description)))

/** On if it is given. */
export const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** A whole number of a range. */
export const whole = (name: string, description: string, least = -Infinity, most = Infinity) =>
  Flag.Int(name).pipe(
    Flag.withMetavar("N"),
    Flag.withDescription(description),
    Flag.filter(
      (n) => n >= least && n <= most,
      () => `a number from ${least} ${most === Infinity ? "on" : `to ${most}`}`
    )
  )

/** The form of a text that stands for a value. */
export interface Form<A> {
  readonly expected: string
  /** The value at a moment; `undefined`: the text is not of the form. */
  readonly read: (text: string, now: number) => A | undefined
}

const ANY: Form<string> = { expected: "a text", read: (text) => text }

/** A text of a form, as the value that it stands for. Any other text is refused before the command begins. */
export const parsed = <A>(name: string, metavar: string, description: string, form: Form<A>) =>
  orUndefined(required(name, metavar, description).pipe(Flag.mapEffect(reader("flag", name, form))))

/** An argument of a form. */
export const parsedArgument = <A>(name: string, description: string, form: Form<A>) =>
  argument(name, description).pipe(Argument.mapEffect(reader("argument", name, form)))

const reader =
  <A>(kind: "flag" | "argument", option: string, { expected, read }: Form<A>) =>
  (value: string): Effect.Effect<A, CliError.InvalidValue> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const found = read(value, now)
      return found === undefined
        ? Effect.fail(new CliError.InvalidValue({ option, value, expected, kind }))
        : Effect.succeed(found)
    })

const formOf = <A extends string>(schema: Schema.Decoder<A>, expected: string): Form<A> => {
  const decode = Schema.decodeUnknownOption(schema)
  return { expected, read: (text) => Option.getOrUndefined(decode(text)) }
}

const AN_ID = '1 to 64 letters, digits, "_" or "-"'

/** The id of a turn. */
export const TURN = formOf(Ids.TurnId, AN_ID)

/** A tag. */
export const TAG = formOf(Labels.Tag, "1 to 64 letters, digits or characters of _ . : / @ + -")

/** `--conversation`. */
export const conversation = (description: string) =>
  parsed("conversation", "ID", description, formOf(Ids.ConversationId, AN_ID))

/** A length of time, in milliseconds. */
export const duration = (name: string, description: string, example: string) =>
  parsed(name, "DURATION", description, {
    expected: `a duration such as ${JSON.stringify(example)}`,
    read: (text) => {
      const length = DurationText.parse(text)
      return length && Duration.toMillis(length)
    }
  })

/** A flag that may be left out. */
export const orUndefined = <A>(flag: Flag.Flag<A>) => Flag.map(Flag.optional(flag), Option.getOrUndefined)

/** An argument. */
export const argument = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description))

/** `--config`, the same for every command. */
export const config = text(
  "config",
  "FILE",
  `Configuration to read (default: ${Load.DEFAULT_FILE}, if there is one)`
).pipe(Flag.withAlias("c"))

/** `--json` of a command that prints one value. */
export const json = toggle("json", "Print it as JSON; times in milliseconds")

/** `--json` of a command that shows a turn. */
export const events = toggle("json", "Print the turn's events, one JSON object a line, instead of the answer")

/** `--svg` of a command that draws. */
export const svg = text("svg", "FILE", "Write a picture to this file, readable in light and dark")

/** `--profile`. */
export const profile = (description: string) => word("profile", RetrySettings.ProfileName.literals, description)

/** `--model`, with its short form. */
export const model = (description: string) => text("model", "PROVIDER/MODEL", description).pipe(Flag.withAlias("m"))
