/** The checkouts under test: this one, and the `--beside` one. */
import { resolve } from "node:path"

/** A checkout. */
export interface Tree {
  readonly name: "here" | "beside"
  readonly folder: string
}

/** This checkout. */
export const here: Tree = { name: "here", folder: resolve(import.meta.dirname, "../..") }

const other = process.env["HOLDFAST_BENCH_BESIDE"]

/** A relative path starts where the command was given. */
export const beside: Tree | undefined =
  other === undefined ? undefined : { name: "beside", folder: resolve(process.env["INIT_CWD"] ?? ".", other) }

/** Runs a measurement on each tree; the result is `undefined` for an absent tree. */
export const each = async <A>(measure: (tree: Tree) => Promise<A>): Promise<{ here: A; beside: A | undefined }> => ({
  here: await measure(here),
  beside: beside === undefined ? undefined : await measure(beside)
})
