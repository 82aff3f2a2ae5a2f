/** Patience for Effect AI's language models (`holdfast`); such a model as a provider of the kernel (`provider`), and the reverse (`model`). */
export { provider } from "./ModelAsProvider.ts"
export { holdfast } from "./PatientLanguageModel.ts"
export { model } from "./ProviderAsModel.ts"
export type { Retry } from "holdfast"
export type { BridgeOptions as PatienceOptions } from "holdfast/bridge"
