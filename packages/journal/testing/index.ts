export * as JournalSuite from "./JournalSuite.ts"
export * as TemporaryFile from "./TemporaryFile.ts"
