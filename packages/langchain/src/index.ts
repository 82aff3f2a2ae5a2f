import type { PatienceOptions as Options } from "holdfast"

/** What the patience of calls is made from. */
export type PatienceOptions = Omit<Options, "park">

export { holdfast, type AnyModel } from "./LangChainModel.ts"
export type { Retry } from "holdfast"
