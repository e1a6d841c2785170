// Connects over HTTP as Grafana does, with each way of compression.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func main() {
	methods := []struct {
		name   string
		method clickhouse.CompressionMethod
	}{
		{"none", clickhouse.CompressionNone},
		{"lz4", clickhouse.CompressionLZ4},
		{"zstd", clickhouse.CompressionZSTD},
		{"gzip", clickhouse.CompressionGZIP},
	}
	for _, way := range methods {
		if err := ask(way.name, way.method, os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, way.name, err)
			os.Exit(1)
		}
	}
}

func ask(name string, method clickhouse.CompressionMethod, address, user, password, account string) error {
	db := clickhouse.OpenDB(&clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{address},
		Auth:        clickhouse.Auth{Database: "default", Username: user, Password: password},
		Compression: &clickhouse.Compression{Method: method},
	})
	defer db.Close()
	if err := db.Ping(); err != nil {
		return err
	}
	var sum string
	if err := db.QueryRow("SELECT toString(sum(quantity)) FROM events").Scan(&sum); err != nil {
		return err
	}
	var count uint64
	if err := db.QueryRow("SELECT count() FROM events WHERE account_id = ?", account).Scan(&count); err != nil {
		return err
	}
	rows, err := db.Query("SELECT event_id FROM events")
	if err != nil {
		return err
	}
	defer rows.Close()
	read := 0
	for ; rows.Next(); read++ {
	}
	if err := rows.Err(); err != nil {
		return err
	}
	var nothing string
	var exception *clickhouse.Exception
	code := int32(0)
	if err := db.QueryRow("SELECT nothing").Scan(&nothing); errors.As(err, &exception) {
		code = exception.Code
	} else {
		return fmt.Errorf("no exception: %w", err)
	}
	fmt.Printf("%s\t%s %d %d %d\n", name, sum, count, read, code)
	return nil
}
