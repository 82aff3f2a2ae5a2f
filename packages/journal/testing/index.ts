export * as GivenRecords from "./GivenRecords.ts"
