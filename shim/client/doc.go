// Package client speaks the wire protocol of headroomd (schema/README.md): Client asks it for decisions,
// Feeder keeps its facts equal to the caches of a scheduler.
//
// A Client has one connection, which it makes when it is needed and again when it is lost. Its replies
// come in the order of the requests, so whoever waits for one reads, and hands on those of others. Reads
// poll the socket for some microseconds before they sleep: a warm decision takes less time than waking a
// thread. Evaluate does not allocate once its buffers have grown.
//
// A Feeder is level-triggered: it is told which objects changed, and reads what they are when it sends them.
package client
