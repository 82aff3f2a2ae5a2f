/**
 * Names the tools of several servers for a model. Pure.
 *
 * A tool with a unique name keeps it. If several servers have a tool of one name, all of these tools get their server's name as a
 * prefix: the order of the servers means nothing to a model. A name is valid for every provider: letters, digits, `_` and `-`, 64
 * characters at most. Other characters are replaced by `_`. No two tools have the same name, and the same lists give the same names.
 */

import * as RegExp from "effect/RegExp"

/** The longest name that OpenAI and Anthropic accept, in characters. */
const LONGEST = 64

const SEPARATOR = "__"

/** A tool and its name. */
export interface NamedTool<T> {
  /** The name for the model. */
  readonly name: string
  readonly server: string
  readonly tool: T
}

/** Names the tools of each server, in order. */
export const assign = <T extends { readonly name: string }>(
  servers: ReadonlyArray<{ readonly server: string; readonly tools: ReadonlyArray<T> }>
): ReadonlyArray<NamedTool<T>> => {
  const all = servers.flatMap(({ server, tools }) => tools.map((tool) => ({ server, tool, plain: legal(tool.name) })))
  const owners = new Map<string, Set<string>>()
  for (const { plain, server } of all) owners.set(plain, (owners.get(plain) ?? new Set()).add(server))
  const taken = new Set<string>()
  return all.map(({ plain, server, tool }) => {
    const wanted = (owners.get(plain)?.size ?? 0) > 1 ? legal(`${server}${SEPARATOR}${plain}`) : plain
    let name = wanted
    // Two tools of one server whose names differ only in replaced characters, or after the length limit.
    for (let n = 2; taken.has(name); n++) name = `${wanted.slice(0, LONGEST - `_${n}`.length)}_${n}`
    taken.add(name)
    return { name, server, tool }
  })
}

/** Whether a name matches one of the patterns, in which `*` matches any text. */
export const matches = (patterns: ReadonlyArray<string>, name: string): boolean =>
  patterns.some((pattern) =>
    new globalThis.RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`, "s").test(name)
  )

// --- internal

const legal = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, LONGEST)
