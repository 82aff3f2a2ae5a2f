export { holdfast, type AnyChatModel } from "./PatientChatModel.ts"
export type { PatienceOptions, Retry } from "holdfast"
