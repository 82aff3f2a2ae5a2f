export * as GivenRecords from "./GivenRecords.ts"
export * as JournalSuite from "./JournalSuite.ts"
export * as TemporaryFile from "./TemporaryFile.ts"
