export { holdfast, type AnyModel } from "./LangChainModel.ts"
export type { Retry } from "holdfast"
export type { BridgeOptions as PatienceOptions } from "holdfast/bridge"
