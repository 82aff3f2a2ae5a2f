/**
 * What the tools of several servers are called before a model. Pure.
 *
 * T1. A tool that no other server has a namesake of keeps its name. Namesakes have their server's name before theirs, all of
 *     them: which one came first is nothing to tell a model.
 * T2. A name is one that every provider takes: letters, digits, `_` and `-`, 64 characters at most. Others are replaced by `_`.
 * T3. No two have the same name, and the same lists give the same names.
 */

import { RegExp } from "effect"

/** The longest name that OpenAI and Anthropic take, and what it is made of. */
const LONGEST = 64

const SEPARATOR = "__"

export interface Named<T> {
  /** What the model calls it. */
  readonly name: string
  readonly server: string
  readonly tool: T
}

/** Names the tools of each server, in order. */
export const assign = <T extends { readonly name: string }>(
  servers: ReadonlyArray<{ readonly server: string; readonly tools: ReadonlyArray<T> }>
): ReadonlyArray<Named<T>> => {
  const all = servers.flatMap(({ server, tools }) => tools.map((tool) => ({ server, tool, plain: legal(tool.name) })))
  const owners = new Map<string, Set<string>>()
  for (const { plain, server } of all) owners.set(plain, (owners.get(plain) ?? new Set()).add(server))
  const taken = new Set<string>()
  return all.map(({ plain, server, tool }) => {
    const wanted = (owners.get(plain)?.size ?? 0) > 1 ? legal(`${server}${SEPARATOR}${plain}`) : plain
    let name = wanted
    // Two of one server that differed in what was replaced, or beyond what is kept.
    for (let n = 2; taken.has(name); n++) name = `${wanted.slice(0, LONGEST - `_${n}`.length)}_${n}`
    taken.add(name)
    return { name, server, tool }
  })
}

/** Whether a name is one of these, where `*` in a pattern stands for anything. */
export const matches = (patterns: ReadonlyArray<string>, name: string): boolean =>
  patterns.some((pattern) =>
    new globalThis.RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`, "s").test(name)
  )

// --- internal

/** T2 */
const legal = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, LONGEST)
