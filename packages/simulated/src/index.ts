export * as Course from "./Course.ts"
export * as Simulated from "./Simulated.ts"
