/**
 * The methods that send one command each, derived from the table of commands (`Commands` of `@holdfast/wire`).
 *
 * A command without fields that must be given takes options alone, with its fields among them; one with a single field takes its value
 * first, any other one its fields.
 */
import { type Command, Commands } from "@holdfast/wire"
import type { RpcLines } from "@holdfast/wire/rpc"

/** The commands that begin no turn. */
export type Sent = Commands.NameOf<"abort" | "setting" | "steering">

/** A command as it is sent. */
export type SentLine = Exclude<RpcLines.RpcCommand, { readonly type: "get_state" | "prompt" | "retry" }>

/** Options and results of the methods, by the kind of their command. */
export type Shape = Readonly<Record<Exclude<Commands.CommandKind, "turn">, readonly [options: object, result: unknown]>>

/** What is done with a command: the method of an object that sends it. */
export const deliver: unique symbol = Symbol("deliver")

/** An object that sends commands. */
export interface Sender<S extends Shape> {
  [deliver](command: SentLine, options: S[keyof Shape][0], kind: keyof Shape): unknown
}

type Table = Pick<typeof Commands.commands, Sent>

type Fields<N extends Sent> = Omit<
  Extract<Command.Command, { readonly type: Commands.Kebab<N> }>,
  "type" | "conversationId" | "commandId"
>

/** A moment may be a date. */
type Value<N extends Sent, F extends keyof Fields<N>> = N extends "waitUntil" ? Date | Fields<N>[F] : Fields<N>[F]

/** The fields of a command where none must be given: ids, as texts. */
type Options<N extends Sent> = {} extends Fields<N> ? Readonly<Partial<Record<keyof Fields<N>, string>>> : unknown

/** The key, where there is one alone. */
type Sole<Key, All = Key> = Key extends unknown ? ([All] extends [Key] ? Key : never) : never

type Given<N extends Sent> =
  {} extends Fields<N>
    ? []
    : [Sole<keyof Fields<N>>] extends [never]
      ? [fields: Fields<N>]
      : [value: Value<N, Sole<keyof Fields<N>>>]

/** The methods, by the names of the table. */
export type Methods<S extends Shape> = {
  readonly [N in keyof Table]: (
    ...given: [...Given<N>, options?: S[Table[N]["kind"]][0] & Options<N>]
  ) => S[Table[N]["kind"]][1]
}

/**
 * A class with the methods; its subclass delivers what they send.
 *
 * **Details**
 *
 * The methods are made in the call: a bundler that takes modules for free of effects leaves statements beside one out.
 */
export const base = <S extends Shape>(): new () => Methods<S> => {
  abstract class Base {
    abstract [deliver](command: SentLine, options: object, kind: keyof Shape): unknown
  }
  for (const name of Commands.names()) {
    const { fields, kind } = Commands.rowOf(name)
    if (kind === "turn") continue
    const [key = "", ...others] = Object.keys(fields)
    const value = function (this: Base, ...given: ReadonlyArray<unknown>): unknown {
      const [first, options] = Commands.hasFields(name) ? given : [given[0] ?? {}, given[0]]
      const own = !Commands.hasFields(name)
        ? Object.fromEntries(Object.entries(Object(first)).filter(([field]) => field in fields))
        : others.length > 0
          ? Object(first)
          : { [key]: first instanceof Date ? Number(first) : first }
      return this[deliver]({ type: Commands.snake(name), ...own } as SentLine, Object(options ?? {}), kind)
    }
    Object.defineProperty(Base.prototype, name, { value, writable: true })
  }
  // The methods are those of the table, by which their types are made too.
  return Base as unknown as new () => Methods<S>
}
