export * as Simulated from "./Simulated.ts"
