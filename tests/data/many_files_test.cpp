// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/many_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "data/duckdb_files.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/reader.hpp"
#include "support/refusals.hpp"

namespace mlo {
namespace {

using Names = std::vector<std::string>;
using testing::refusal;
using testing::TemporaryFolder;

Names words(const Column& column) {
  Names out;
  for (const std::uint32_t code : column.text().codes)
    out.push_back(code == Text::missing ? "<missing>" : column.text().levels[code]);
  return out;
}

TEST(ManyFiles, AreReadOneAfterTheOtherWhateverTheOrderOfTheirColumns) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "x,y\n1,2\n\n3,4\n"), b = folder.write("b.csv", "y;x\n20;10\n"),
                    c = folder.write("c.csv.gz", testing::gzip("x,y\n5,6\n7,8\n"));
  const std::unique_ptr<Reader> reader = open_reader({a, b, c});
  EXPECT_EQ(reader->header(), (Names{"x", "y"}));
  double last = 0;
  const Table table = reader->read(Names{"y", "x"}, [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  });
  EXPECT_EQ(last, 1);
  ASSERT_EQ(table.rows, 5U);
  EXPECT_EQ(table.columns[0].name, "y");
  EXPECT_EQ(table.columns[0].numbers(), (Numbers{2, 4, 20, 6, 8}));
  EXPECT_EQ(table.columns[1].numbers(), (Numbers{1, 3, 10, 5, 7}));
  EXPECT_EQ(table.source.name, a + " and 2 other files");
  const Names places{a + ":2", a + ":4", b + ":2", c + ":2", c + ":3"};
  for (std::size_t row = 0; row < places.size(); ++row) EXPECT_EQ(table.source.place(row), places[row]);
}

TEST(ManyFiles, HaveALogicalColumnIfAllCellsAreTrueOrFalse) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "x\nTRUE\nFALSE\n"), b = folder.write("b.csv", "x\nNA\n"),
                    c = folder.write("c.csv", "x\nfalse\n"), d = folder.write("d.csv", "x\n1\n");
  const auto logical = [](const Names& files) {
    return open_reader(files)->read(Names{"x"}).columns[0].logical;
  };
  EXPECT_TRUE(logical({a, b, c}));
  EXPECT_TRUE(logical({b, c}));
  EXPECT_FALSE(logical({a, d}));
  EXPECT_FALSE(logical({d, a}));
  const std::string e = folder.write("e.csv", "x\n\n\"\"\n");
  EXPECT_FALSE(logical({b, e}));
}

TEST(ManyFiles, OfAPatternAreSortedByTheirBytes) {
  const TemporaryFolder folder;
  for (const int k : {2, 10, 1})
    static_cast<void>(folder.write(fmt::format("part-{}.csv", k), fmt::format("x\n{}\n", k)));
  static_cast<void>(folder.write("other.csv", "z\n1\n"));
  EXPECT_EQ(open_reader({folder / "part-*.csv"})->read(Names{"x"}).columns[0].numbers(), (Numbers{1, 10, 2}));
  EXPECT_EQ(open_reader({folder / "part-[12].csv"})->read(Names{"x"}).columns[0].numbers(), (Numbers{1, 2}));
  EXPECT_EQ(open_reader({folder / "part-1?.csv"})->read(Names{"x"}).columns[0].numbers(), (Numbers{10}));
  // A file of that very name is that file.
  const std::string literal = folder.write("part-*.csv", "x\n7\n");
  EXPECT_EQ(open_reader({literal})->read(Names{"x"}).columns[0].numbers(), (Numbers{7}));
}

TEST(ManyFiles, AreRefusedIfNoneOrOneTwiceIsNamed) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "x\n1\n"), b = folder.write("b.csv", "x\n2\n");
  const auto said = [](const Names& paths) {
    return refusal([&] { static_cast<void>(open_reader(paths)); });
  };
  EXPECT_EQ(
      said({folder / "c*.csv"}),
      folder / "c*.csv" + ": no such file, and no file whose name matches it as a pattern with * ? [ ]");
  EXPECT_EQ(said({}), "`data` must name a file");
  EXPECT_EQ(said({a, b, a}), a + ": the file is named twice; its rows would count twice");
  EXPECT_EQ(said({a, folder / "*.csv"}), a + ": the file is named twice; its rows would count twice");
  EXPECT_EQ(said({a, folder / "./a.csv"}),
            fmt::format("{}: is the same file as {}; its rows would count twice", folder / "./a.csv", a));
  EXPECT_EQ(said({a, "-"}), "`data`: standard input (-) cannot be one of several files");
  EXPECT_EQ(said({a, folder / "none.csv"}), folder / "none.csv" + ": no such file");
}

TEST(ManyFiles, NameTheFirstFileWhoseColumnsDiffer) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "x,y\n1,2\n"), b = folder.write("b.csv", "y,x\n1,2\n"),
                    c = folder.write("c.csv", "x,y,z,u,v,w\n1,2,3,4,5,6\n"),
                    d = folder.write("d.csv", "x,Y\n1,2\n"), e = folder.write("e.csv", "x,y,x\n1,2,3\n"),
                    f = folder.write("f.csv", "y\n1\n");
  const auto said = [](const Names& paths) {
    return refusal([&] { static_cast<void>(open_reader(paths)); });
  };
  const std::string rule =
      ", unlike " + a + "; the files of one data set must have the same columns, in any order";
  EXPECT_EQ(said({a, b, c, d}), c + ": has the additional columns \"u\", \"v\", \"w\" and 1 more" + rule);
  EXPECT_EQ(said({a, b, d, c}), d + ": has no column \"y\", and has the additional column \"Y\"" + rule);
  EXPECT_EQ(said({a, e}), e + ": has the additional column \"x\"" + rule);
  EXPECT_EQ(said({a, f}), f + ": has no column \"x\"" + rule);
}

TEST(ManyFiles, NameTheFileOfABadRow) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "x,y\n1,2\n"), b = folder.write("b.csv", "x,y\n1,2\n3\n");
  EXPECT_TRUE(refusal([&] {
                static_cast<void>(open_reader({a, b})->read(Names{"x"}));
              }).starts_with(b + ":3: "));
}

// The words of the other files are those in the files: 01 is not 1.
TEST(ManyFiles, HaveTextInAllIfOneHasIt) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "id,y\n01,1\n1.0,2\n,3\n"),
                    b = folder.write("b.csv", "y,id\n4,7b\n5,01\n"),
                    c = folder.write("c.csv", "id,y\nNA,6\n,7\n");
  const Table table = open_reader({a, b, c})->read(Names{"id", "y"});
  ASSERT_TRUE(table.columns[0].is_text());
  EXPECT_EQ(words(table.columns[0]), (Names{"01", "1.0", "<missing>", "7b", "01", "<missing>", "<missing>"}));
  EXPECT_EQ(table.columns[0].text().levels, (Names{"01", "1.0", "7b"}));
  EXPECT_EQ(table.columns[1].numbers(), (Numbers{1, 2, 3, 4, 5, 6, 7}));
  ASSERT_TRUE(table.columns[0].text().words);
  EXPECT_EQ(table.columns[0].text().words->first, 3U);
  EXPECT_EQ(table.columns[0].text().words->count, 1U);
  EXPECT_EQ(table.columns[0].text().words->cells, 4U);
}

TEST(ManyFiles, GiveTheSameTableAsOneFileOfAllRows) {
  const TemporaryFolder folder;
  std::string all = "x,w\n";
  std::vector<std::string> parts(7, "x,w\n"), files;
  for (std::size_t row = 0; row < 700; ++row) {
    const std::string line =
        fmt::format("{}.{},{}\n", row * 7919 % 1000, row, row % 13 == 4 ? "" : fmt::format("w{}", row % 29));
    all += line;
    parts[row / 100] += line;
  }
  for (std::size_t k = 0; k < parts.size(); ++k)
    files.push_back(folder.write(fmt::format("{}.csv", k), parts[k]));
  const Table one = open_reader({folder.write("all.csv", all)})->read(Names{"w", "x"});
  const Table many = open_reader(files)->read(Names{"w", "x"});
  EXPECT_EQ(many.columns[0].text().levels, one.columns[0].text().levels);
  EXPECT_EQ(many.columns[0].text().codes, one.columns[0].text().codes);
  EXPECT_EQ(many.columns[1].numbers(), one.columns[1].numbers());
}

TEST(ManyFiles, HaveAHashOfAllOfThemInOrder) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "x\n1\n"), b = folder.write("b.csv", "x\n2\n"),
                    c = folder.write("c.csv", "x\n3\n");
  std::set<std::uint64_t> hashes;
  for (const Names& files : {Names{a, b}, {b, a}, {a, c}, {a, b, c}}) {
    const std::unique_ptr<Reader> reader = open_reader(files);
    static_cast<void>(reader->read(Names{"x"}));
    hashes.insert(reader->fingerprint());
  }
  EXPECT_EQ(hashes.size(), 4U);
}

// A writer at the other end of a named pipe, as with <(zcat a.csv.gz) in a shell.
class Pipe {
 public:
  Pipe(std::string path, std::string text) : path_(std::move(path)) {
    if (::mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
    writer_ = std::thread([this, its_text = std::move(text)] { std::ofstream(path_) << its_text; });
  }
  ~Pipe() { writer_.join(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::thread writer_;
};

TEST(ManyFiles, MayBePipes) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.csv", "x\n1\n");
  {
    const Pipe first(folder / "first", "x\n2\n3\n"), second(folder / "second", "x\n4\n");
    EXPECT_EQ(open_reader({first.path(), file, second.path()})->read(Names{"x"}).columns[0].numbers(),
              (Numbers{2, 3, 1, 4}));
  }
  const std::string word = folder.write("b.csv", "x\nmany\n");
  const Pipe third(folder / "third", "x\n2\n");
  EXPECT_EQ(
      refusal([&] {
        static_cast<void>(open_reader({third.path(), word})->read(Names{"x"}));
      }),
      fmt::format(
          "{}: column \"x\" holds numbers here but text in {}, and a pipe cannot be read again; give `type "
          "x=text`",
          third.path(), word));
}

TEST(ManyFiles, MayBeMoreThanAProgramMayHaveOpen) {
  const TemporaryFolder folder;
  constexpr std::size_t count = 1500;
  for (std::size_t k = 0; k < count; ++k)
    static_cast<void>(folder.write(fmt::format("{:04}.csv", k), fmt::format("x\n{}\n", k)));
  const Table table = open_reader({folder / "*.csv"})->read(Names{"x"});
  ASSERT_EQ(table.rows, count);
  EXPECT_EQ(table.columns[0].numbers()[1234], 1234);
  EXPECT_EQ(table.source.place(1234), folder / "1234.csv:2");
}

TEST(ManyFiles, OfParquetMayHaveOtherTypesInEachFile) {
  MLO_NEEDS_DUCKDB();
  const TemporaryFolder folder;
  testing::run_sql(fmt::format("copy (select 1 as x, 5 as id) to '{}'", folder / "1.parquet"));
  testing::run_sql(fmt::format("copy (select 'b7' as id, 2.5::double as x) to '{}'", folder / "2.parquet"));
  const std::string csv = folder.write("3.csv", "x,id\n3,05\n");
  const Table table = open_reader({folder / "?.parquet", csv})->read(Names{"id", "x"});
  EXPECT_EQ(words(table.columns[0]), (Names{"5", "b7", "05"}));
  EXPECT_EQ(table.columns[1].numbers(), (Numbers{1, 2.5, 3}));
  EXPECT_EQ(table.source.place(1), folder / "2.parquet, row 1");
  EXPECT_EQ(table.source.place(2), csv + ":2");
}

}  // namespace
}  // namespace mlo
