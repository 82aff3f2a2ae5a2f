export { holdfast, type AnyModel } from "./LangChainModel.ts"
export type { PatienceOptions, Retry } from "holdfast"
