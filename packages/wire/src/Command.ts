/**
 * Schemas of the commands on a conversation, made from the table (`Commands`).
 *
 * Every command except `prompt` and `retry` is answered as soon as its effect is on disk, which takes milliseconds. It has no
 * effect where there is nothing to change, so sending a command twice equals sending it once.
 */
import * as Schema from "effect/Schema"
import * as Commands from "./Commands.ts"
import { ToolAnswers } from "./ConversationState.ts"
import { CommandId, ConversationId, TurnId } from "./Ids.ts"
import { Prompt } from "./Prompt.ts"
import { MomentOrDate } from "./values/Moment.ts"
import { NonEmptyText } from "./values/Text.ts"

/** One year: longer than any client waits, and small enough that sums of such numbers stay finite. */
const LONGEST_EXTENSION_MS = 365 * 86_400_000

const EXTENSION = `expected a number of milliseconds above 0, a year (${LONGEST_EXTENSION_MS}) at most`

/** Characters of a reason: more than a person writes, and few enough for a model's context. */
const MOST_REASON = 4_000

/** The fields of commands, by the types in the table. */
const types = {
  prompt: Prompt,
  turnId: TurnId,
  enabled: Schema.Boolean,
  model: NonEmptyText,
  toolAnswers: ToolAnswers,
  moment: MomentOrDate,
  // The sum of repeated extensions must stay a number that can be recorded.
  extension: Schema.Finite.check(
    Schema.isGreaterThan(0, { message: EXTENSION }),
    Schema.isLessThanOrEqualTo(LONGEST_EXTENSION_MS, { message: EXTENSION })
  ),
  toolCallId: NonEmptyText,
  approve: Schema.Boolean,
  reason: NonEmptyText.check(
    Schema.isMaxLength(MOST_REASON, { message: `expected ${MOST_REASON} characters at most` })
  ),
  always: Schema.Boolean,
  commandId: CommandId
} as const satisfies Record<Commands.FieldType | "commandId", Schema.Constraint>

/** What `/openapi.json` has of them. */
const notes: { readonly [T in keyof typeof types]?: { readonly description: string; readonly examples?: [unknown] } } =
  {
    model: { description: "`provider/model`.", examples: ["anthropic/claude-sonnet-4-5"] },
    extension: { description: "Milliseconds; a year at most.", examples: [7_200_000] },
    toolCallId: { description: "As in `asks.calls` of the state and of the events." },
    approve: { description: "`true` runs the call; `false` answers it to the model as a failed call." },
    reason: { description: "Why it is refused, for the model." },
    always: { description: "`true`: the answer also holds for every later call of this tool in the conversation." },
    commandId: { description: "Chosen by the client: a repeated id has no second effect." }
  }

type Types = typeof types

type FieldOf<Type> = Type extends `${infer Present extends Commands.FieldType}?`
  ? Schema.optionalKey<Types[Present]>
  : Type extends Commands.FieldType
    ? Types[Type]
    : never

const schemasOf = (fields: Readonly<Record<string, string>>, isDescribed: boolean) =>
  Object.fromEntries(
    Object.entries(fields).map(([field, given]) => {
      const type = given.replace("?", "") as keyof Types
      const note = isDescribed ? notes[type] : undefined
      const schema: Schema.Top = note === undefined ? types[type] : (types[type] as Schema.Top).annotate(note)
      return [field, given.endsWith("?") ? Schema.optionalKey(schema) : schema]
    })
  )

/** The fields of a command that are its own. */
export type Own<N extends Commands.Name> = {
  readonly [F in keyof Commands.FieldTypes<N>]: FieldOf<Commands.FieldTypes<N>[F]>
}

/** The fields of a command, over any transport. */
export type Fields<N extends Commands.Name> =
  N extends Commands.NameOf<"steering"> ? Own<N> & { readonly commandId: Schema.optionalKey<typeof CommandId> } : Own<N>

/** The fields of a command that are its own; those of a body of HTTP are described. */
export const ownOf = <N extends Commands.Name>(name: N, isDescribed = false): Own<N> =>
  // The types of the table are those of its values.
  schemasOf(Commands.rowOf(name).fields, isDescribed) as Own<N>

/** The fields of a command, over any transport. */
export const fieldsOf = <N extends Commands.Name>(name: N, isDescribed = false): Fields<N> => {
  const once = Commands.rowOf(name).kind === "steering" ? schemasOf({ commandId: "commandId?" }, isDescribed) : {}
  return { ...once, ...ownOf(name, isDescribed) } as unknown as Fields<N>
}

const make = <N extends Commands.Name>(name: N) =>
  // A request may name a moment by its date; the command has milliseconds.
  Schema.toType(
    Schema.Struct({ type: Schema.tag(Commands.kebab(name)), conversationId: ConversationId, ...fieldsOf(name) })
  )

type Made<N extends Commands.Name> = { [K in N]: ReturnType<typeof make<K>> }[N]

const some = <K extends Commands.CommandKind>(kind?: K) => {
  const made: ReadonlyArray<unknown> = Commands.names(kind).map(make)
  return Schema.Union(made as ReadonlyArray<Made<Commands.NameOf<K>>>)
}

/** The commands that steer a waiting turn. On a turn that does not wait they have no effect. */
export const Steering = some("steering")
export type Steering = typeof Steering.Type

/** The commands that change a conversation. */
export const SettingCommand = some("setting")
export type SettingCommand = typeof SettingCommand.Type

const settings: ReadonlySet<string> = new Set(Commands.names("setting").map(Commands.kebab))

/** Whether a command changes the conversation. */
export const isSetting = (command: Command): command is SettingCommand => settings.has(command.type)

/** Any command. */
export const Command = some()
export type Command = typeof Command.Type
