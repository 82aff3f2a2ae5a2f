/**
 * Reads and keeps the list of a server's tools.
 *
 * Names and descriptions are kept without the server's secrets.
 *
 * Tools beyond the limits of a request (`Offers`) are left out, with a warning that names them. The same warning is logged once.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { CallError, ServerConnection } from "./Connection.ts"
import type { Offer } from "./Offers.ts"
import * as Offers from "./Offers.ts"
import * as ToolNames from "./ToolNames.ts"
import type { ToolServerConfig } from "./ToolServerConfig.ts"

/** The tools of one server. */
export interface ToolList {
  /** The last list, filtered by `allow`, `deny` and the limits; empty before the first one. */
  readonly known: () => ReadonlyArray<Offer>
  /** Reads the list from the server. */
  readonly read: (connection: ServerConnection) => Effect.Effect<void, CallError>
  /** The same after a start: warns about configured names that match no tool. */
  readonly readFirst: (connection: ServerConnection) => Effect.Effect<void, CallError>
}

/** An empty list. `conceal` redacts the server's secrets. */
export const make = (config: ToolServerConfig, conceal: (text: string) => string): ToolList => {
  let known: ReadonlyArray<Offer> = []
  let warned: string | undefined
  const list = Effect.fnUntraced(function* (connection: ServerConnection) {
    const { isCut, tools } = yield* connection.list
    const selection = Offers.select(tools.filter(({ name }) => isAllowed(config, name)))
    known = selection.kept.map((tool) => concealed(tool, conceal))
    const warning = Offers.warningOf(config.name, selection, isCut)
    if (warning !== undefined && warning !== warned) yield* Effect.logWarning(conceal(warning))
    warned = warning
    return tools
  })
  return {
    known: () => known,
    read: (connection) => Effect.asVoid(list(connection)),
    readFirst: Effect.fnUntraced(function* (connection: ServerConnection) {
      for (const warning of unknownNames(config, yield* list(connection))) yield* Effect.logWarning(warning)
    })
  }
}

// --- internal

const isAllowed = ({ allow, deny }: ToolServerConfig, tool: string): boolean =>
  (allow === undefined || ToolNames.matches(allow, tool)) && !ToolNames.matches(deny, tool)

/** Warnings about names in the configuration that match no tool and are most likely misspelt. */
const unknownNames = (
  { allow = [], confirm, deny, idempotent, name }: ToolServerConfig,
  tools: ReadonlyArray<Offer>
): ReadonlyArray<string> =>
  Object.entries({ allow, confirm, deny, idempotent }).flatMap(([key, patterns]) =>
    patterns
      .filter((pattern) => !tools.some((tool) => ToolNames.matches([pattern], tool.name)))
      .map((pattern) => `tools.${name}.${key} has "${pattern}", and ${name} has no such tool.`)
  )

/** A model reads descriptions too, and many servers put their own address into them. */
const concealed = ({ description, inputSchema, name }: Offer, conceal: (text: string) => string): Offer => {
  const schema: Schema.Json = JSON.parse(conceal(JSON.stringify(inputSchema)))
  return { name, description: description === undefined ? undefined : conceal(description), inputSchema: schema }
}
