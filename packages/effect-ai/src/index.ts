import type { PatienceOptions as Options } from "holdfast"

/** What the patience of calls is made from. */
export type PatienceOptions = Omit<Options, "park">

export { provider } from "./ModelAsProvider.ts"
export { holdfast } from "./PatientLanguageModel.ts"
export { model } from "./ProviderAsModel.ts"
export type { Retry } from "holdfast"
